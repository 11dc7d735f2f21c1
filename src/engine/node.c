/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

void rl_node_keep_orphan(struct rl_engine *engine, uint8_t node, struct rl_claim *claim,
                         int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    /* Nothing to release where nothing was ever sent, or where the key has expired. */
    if (!(claim->touched & (1u << node)) || now_ns >= claim->gone_ns)
        return;
    if (at->orphan_count == RL_ORPHANS_MAX)
        return;
    if (!at->orphan) {
        at->orphan = malloc(RL_ORPHANS_MAX * sizeof *at->orphan);
        if (!at->orphan)
            return;
    }
    rl_claim_ref(claim);
    at->orphan[at->orphan_count++] = claim;
}

/* Keep the queue entry if a waiter still uses this ticket, else remove it. */
static enum rl_op orphan_op(const struct rl_engine *engine, const struct rl_claim *claim)
{
    const struct rl_line *line =
        claim->waiter ? rl_line_of_number(&engine->lines, claim->waiter) : NULL;

    return line && line->first->lock.acquisition->ticket == claim->ticket ? RL_OP_ROLLBACK
                                                                          : RL_OP_QUIT;
}

static void send_orphans(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    uint32_t count = at->orphan_count;

    at->orphan_count = 0;
    at->orphans_sent = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        struct rl_claim *claim = at->orphan[i];

        if (now_ns < claim->gone_ns)
            rl_ask_node(engine, node, claim, NULL, orphan_op(engine, claim), 0, now_ns);
        rl_claim_unref(&engine->claims, claim);
    }
}

void rl_engine_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    at->connected = false;
    if (rl_session_begin(&at->session, now_ns) < 0) {
        rl_session_end(&at->session);
        return;
    }
    send_orphans(engine, node, now_ns);
    /* Its standing is looked at as soon as it can be. */
    engine->watch_at_ns = now_ns;
}

void rl_engine_connected(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    at->connected = true;
    at->connected_ns = now_ns;
    at->connects++;
}

void rl_engine_disconnected(struct rl_engine *engine, uint8_t node, enum redlock_vote vote,
                            const char *text, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    bool nothing_was_sent = !at->connected;

    rl_session_fail(&at->session, vote, (struct rl_slice){text, strlen(text)});
    rl_session_end(&at->session);
    at->connected = false;
    at->warming = false;
    rl_vote_lose_witness(engine, node, now_ns);
    rl_hear_nothing(engine, node, nothing_was_sent, now_ns);
}

bool rl_engine_is_stalled(const struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    const struct rl_node *at = &engine->node[node];

    return at->connected && rl_session_is_waiting(&at->session) &&
           now_ns - at->session.progress_ns >= engine->stall_ns;
}
