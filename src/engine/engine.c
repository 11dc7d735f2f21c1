/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "core/rules.h"

_Static_assert(RL_CLIENT_ID_SIZE >= RL_SIPHASH_KEY_SIZE, "the id is random, and long enough");

int rl_engine_init(struct rl_engine *engine)
{
    const char *addresses[REDLOCK_NODES_MAX];

    /* A name for the nodes' queues that no other client has. */
    if (rl_engine_draw_hex(engine, RL_CLIENT_ID_SIZE / 2, engine->id) < 0)
        return REDLOCK_SYSTEM;
    engine->id[RL_CLIENT_ID_SIZE] = '\0';
    memcpy(engine->local_queues.hash_key, engine->id, RL_SIPHASH_KEY_SIZE);
    memcpy(engine->channel, RL_WAKE_PREFIX, sizeof RL_WAKE_PREFIX);
    memcpy(engine->channel + sizeof RL_WAKE_PREFIX - 1, engine->id, sizeof engine->id);
    engine->strict = engine->guard_mode == RL_GUARD_STRICT;
    engine->watch_at_ns = RL_NEVER_NS;
    engine->awaits_sets = engine->guard_mode != RL_GUARD_OFF && RL_RULE(SETS_KNOWN);
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        addresses[i] = engine->node[i].address;
    rl_set_init(&engine->set_self, addresses, engine->policy.node_count, engine->placement);
    LIST_INIT(&engine->handles);
    TAILQ_INIT(&engine->ready);
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_node *node = &engine->node[i];

        engine->set_self.has_elected |= node->elected != NULL;
        node->rtt_us = -1;
        node->warming = true;
        if (rl_session_init(&node->session, &node->login) < 0)
            return REDLOCK_NOMEM;
        node->session.failure = REDLOCK_VOTE_UNREACHABLE;
        node->session.trace = engine->trace;
        node->session.address = node->address;
        node->traced_reason = REDLOCK_REASON_UNCHECKED;
        rl_guard_init(&node->session.guard, engine->guard_mode, engine->max_ttl_ns,
                      engine->policy.drift_ppm);
        if (node->elected && rl_elected_init(engine, i) < 0)
            return REDLOCK_NOMEM;
    }
    return REDLOCK_OK;
}

void rl_engine_free(struct rl_engine *engine)
{
    struct rl_pending pending;

    for (uint8_t n = 0; n < engine->policy.node_count; n++) {
        struct rl_node *node = &engine->node[n];

        while (rl_pending_pop(&node->session.pending, &pending))
            if (pending.subject)
                rl_attempt_unref(&engine->attempts, pending.subject);
        for (uint32_t i = 0; i < node->undelivered_count; i++)
            rl_attempt_unref(&engine->attempts, node->undelivered[i]);
        free(node->undelivered);
        for (uint32_t i = 0; i < node->unconfirmed_count; i++)
            rl_attempt_unref(&engine->attempts, node->unconfirmed[i].pending.subject);
        free(node->unconfirmed);
        for (uint32_t i = 0; i < node->kept_count; i++)
            rl_attempt_unref(&engine->attempts, node->kept[i].pending.subject);
        free(node->kept);
        rl_elected_free(node);
        rl_session_free(&node->session);
        rl_session_free(&node->subscriber.session);
    }
    rl_timers_free(&engine->timers);
    rl_local_queues_free(&engine->local_queues);
    rl_pool_close(&engine->attempts);
    rl_pool_close(&engine->pending_acquires);
}
