/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strict mode's check of an acquire (G2), one for many.
 *
 * A grant counts only if the node that gave it still is what this connection greeted, and its
 * marker says so. Asking that inside every acquire costs the server several times the acquire
 * itself. Instead one witness goes behind each batch of acquires, on their connection; grants
 * wait here until it has answered. It is executed after them, and who a node is never comes back
 * once it has changed: if the witness finds what was there before the acquires were sent, it was
 * there all the time between. (In front of them it would say nothing about the moment of the
 * grant.)
 */
#include <stdlib.h>

#include "engine/engine.h"

#define CAPACITY_FIRST 64

bool rl_witness_await(struct rl_engine *engine, uint8_t node, const struct rl_pending *request,
                      const struct rl_answer *answer)
{
    struct rl_node *at = &engine->node[node];

    if (at->unconfirmed_count == at->unconfirmed_capacity) {
        uint32_t capacity =
            at->unconfirmed_capacity ? 2 * at->unconfirmed_capacity : CAPACITY_FIRST;
        struct rl_unconfirmed *grown =
            realloc(at->unconfirmed, capacity * sizeof *at->unconfirmed);

        if (!grown)
            return false;
        at->unconfirmed = grown;
        at->unconfirmed_capacity = capacity;
    }
    at->unconfirmed[at->unconfirmed_count++] = (struct rl_unconfirmed){
        .request = *request,
        .token = answer->token,
    };
    return true;
}

bool rl_witness_is_awaited(const struct rl_engine *engine, uint8_t node,
                           const struct rl_claim *claim)
{
    const struct rl_node *at = &engine->node[node];

    for (uint32_t i = 0; i < at->unconfirmed_count; i++)
        if (at->unconfirmed[i].request.subject == claim)
            return true;
    return false;
}

/* What the grant is worth after all. A renewal is what it was; what it renews has been judged. */
static struct rl_answer judged(const struct rl_unconfirmed *grant, struct rl_answer witness)
{
    const struct rl_claim *claim = grant->request.subject;

    if (grant->request.op == RL_OP_EXTEND && witness.vote == REDLOCK_VOTE_GRANTED)
        return (struct rl_answer){REDLOCK_VOTE_GRANTED, .key_ttl_ms = -1};
    witness.token = grant->token;
    if (witness.has_marker && witness.marker_max_ttl_ms > 0 &&
        claim->ttl_ns / RL_NS_PER_MS > witness.marker_max_ttl_ms) {
        witness.vote = REDLOCK_VOTE_GUARDED;
        witness.beyond_max_ttl = true;
    }
    return witness;
}

void rl_witness_answer(struct rl_engine *engine, uint8_t node, const struct rl_reply *reply,
                       int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_answer witness;
    uint32_t count = at->unconfirmed_count;

    if (rl_reply_is_noscript(reply)) {
        at->session.abilities.known_scripts &= ~(1u << RL_SCRIPT_ID_WITNESS);
        at->session.wants_witness = count > 0;
        return;
    }
    witness = rl_answer_read_witness(reply);
    /* Also when no grant waits for it: one that came out of turn is renewed like any other. */
    if (witness.has_marker)
        rl_guard_marker(&at->session.guard, witness.marker, witness.present,
                        witness.marker_max_ttl_ms, now_ns);
    for (uint32_t i = 0; i < count; i++) {
        struct rl_unconfirmed grant = at->unconfirmed[i];
        enum rl_op op = (enum rl_op)grant.request.op;
        struct rl_answer answer =
            rl_watch_vote(engine, node, op, judged(&grant, witness), now_ns);

        rl_handle_answer(engine, grant.request.subject, node, &grant.request, NULL, &answer,
                         now_ns);
        rl_claim_unref(&engine->claims, grant.request.subject);
    }
    at->unconfirmed_count = 0;
}

void rl_witness_gone(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    for (uint32_t i = 0; i < at->unconfirmed_count; i++) {
        struct rl_unconfirmed grant = at->unconfirmed[i];
        struct rl_answer excuse = rl_node_excuse(engine, node);

        rl_handle_answer(engine, grant.request.subject, node, &grant.request, NULL, &excuse,
                         now_ns);
        rl_claim_unref(&engine->claims, grant.request.subject);
    }
    at->unconfirmed_count = 0;
}
