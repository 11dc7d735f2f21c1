/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* A name for the nodes' queues that no other client has. */
static int draw_id(struct rl_engine *engine)
{
    uint8_t bytes[RL_CLIENT_ID_SIZE / 2];

    if (engine->secret(engine->random_data, bytes, sizeof bytes) < 0)
        return -1;
    rl_write_hex(bytes, sizeof bytes, engine->id);
    engine->id[RL_CLIENT_ID_SIZE] = '\0';
    memcpy(engine->channel, RL_WAKE_PREFIX, sizeof RL_WAKE_PREFIX);
    memcpy(engine->channel + sizeof RL_WAKE_PREFIX - 1, engine->id, sizeof engine->id);
    return 0;
}

int rl_engine_init(struct rl_engine *engine)
{
    if (draw_id(engine) < 0)
        return REDLOCK_SYSTEM;
    engine->strict = engine->guard_mode == RL_GUARD_STRICT;
    engine->watch_at_ns = RL_NEVER_NS;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_node *node = &engine->node[i];

        node->rtt_us = -1;
        node->warming = true;
        if (rl_session_init(&node->session, &node->login) < 0)
            return REDLOCK_NOMEM;
        node->session.failure = REDLOCK_VOTE_UNREACHABLE;
        rl_guard_init(&node->session.guard, engine->guard_mode, engine->max_ttl_ns,
                      engine->policy.drift_ppm);
    }
    return REDLOCK_OK;
}

static void free_node(struct rl_engine *engine, struct rl_node *node)
{
    struct rl_pending request;

    while (rl_session_take_unanswered(&node->session, &request))
        if (request.subject)
            rl_claim_unref(&engine->claims, request.subject);
    for (uint32_t i = 0; i < node->orphan_count; i++)
        rl_claim_unref(&engine->claims, node->orphan[i]);
    free(node->orphan);
    for (uint32_t i = 0; i < node->unconfirmed_count; i++)
        rl_claim_unref(&engine->claims, node->unconfirmed[i].request.subject);
    free(node->unconfirmed);
    rl_session_free(&node->session);
    rl_session_free(&node->ear.session);
}

void rl_engine_free(struct rl_engine *engine)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        free_node(engine, &engine->node[i]);
    rl_timers_free(&engine->timers);
    rl_lines_free(&engine->lines);
    rl_claims_free(&engine->claims);
    rl_seekers_free(&engine->seekers);
}

int64_t rl_engine_next_ns(const struct rl_engine *engine)
{
    int64_t next_ns = rl_timers_next_ns(&engine->timers);

    if (engine->watch_at_ns < next_ns)
        next_ns = engine->watch_at_ns;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];
        int64_t stalled_ns = node->session.progress_ns + engine->stall_ns;

        if (node->connected && rl_session_is_waiting(&node->session) && stalled_ns < next_ns)
            next_ns = stalled_ns;
    }
    return next_ns;
}

void rl_engine_tick(struct rl_engine *engine, int64_t now_ns)
{
    struct rl_timer *timer;

    if (now_ns >= engine->watch_at_ns)
        rl_watch_tick(engine, now_ns);
    while ((timer = rl_timers_due(&engine->timers, now_ns)) != NULL)
        rl_handle_timer(engine, (struct rl_handle *)timer, now_ns);
}
