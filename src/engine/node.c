/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/receive.h"
#include "engine/send.h"
#include "engine/sets.h"
#include "engine/trace.h"

void rl_node_note_delay(struct rl_engine *engine, uint8_t node, int64_t delay_ns)
{
    struct rl_node *at = &engine->node[node];

    /* Each delay is a lower bound: the longest is the closest. */
    if (delay_ns > engine->policy.node_timeout_ns && rl_rtt_us(delay_ns) > at->late_us)
        at->late_us = rl_rtt_us(delay_ns);
}

bool rl_node_describe_late(const struct rl_engine *engine, uint8_t node, char *out, size_t size)
{
    int32_t late_us = engine->node[node].late_us;

    out[0] = '\0';
    if (late_us > 0)
        snprintf(out, size, "answers after %d ms, %d ms are allowed", late_us / 1000,
                 (int)(engine->policy.node_timeout_ns / RL_NS_PER_MS));
    return late_us > 0;
}

enum redlock_reason rl_reason_of_vote(enum redlock_vote vote)
{
    static const uint8_t reasons[] = {
        [REDLOCK_VOTE_SILENT] = REDLOCK_REASON_SILENT,
        [REDLOCK_VOTE_REFUSED] = REDLOCK_REASON_REFUSED,
        [REDLOCK_VOTE_UNREACHABLE] = REDLOCK_REASON_UNREACHABLE,
        [REDLOCK_VOTE_AUTH] = REDLOCK_REASON_WRONG_PASSWORD,
        [REDLOCK_VOTE_PROTO] = REDLOCK_REASON_PROTOCOL,
        [REDLOCK_VOTE_LOADING] = REDLOCK_REASON_LOADING,
        [REDLOCK_VOTE_READONLY] = REDLOCK_REASON_REPLICA,
        [REDLOCK_VOTE_ERROR] = REDLOCK_REASON_SERVER_ERROR,
        [REDLOCK_VOTE_GUARDED] = REDLOCK_REASON_UNCHECKED,
        [REDLOCK_VOTE_NOPERM] = REDLOCK_REASON_RIGHTS,
    };

    return reasons[vote];
}

static bool is_absence(enum redlock_vote vote)
{
    return vote == REDLOCK_VOTE_SILENT || vote == REDLOCK_VOTE_UNREACHABLE ||
           vote == REDLOCK_VOTE_PENDING || vote == REDLOCK_VOTE_NONE;
}

enum redlock_reason rl_node_explain_vote(const struct rl_engine *engine, uint8_t node,
                                         enum redlock_vote vote, char out[REDLOCK_TEXT_MAX])
{
    const struct rl_session *session = &engine->node[node].session;
    enum redlock_reason reason = rl_reason_of_vote(vote);
    bool comes_back = session->state == RL_SESSION_GREETING && vote == REDLOCK_VOTE_SILENT &&
                      session->failure_text[0];

    out[0] = '\0';
    /* It has no server to answer while its electors name none. */
    if (engine->node[node].elected && is_absence(vote)) {
        enum redlock_reason of_electors = rl_elected_explain(
            &engine->node[node], engine->node[node].elected->requested_ns, 0, out);

        if (of_electors)
            return of_electors;
    }
    if (vote == REDLOCK_VOTE_SILENT &&
        rl_node_describe_late(engine, node, out, REDLOCK_TEXT_MAX))
        return REDLOCK_REASON_LATE;
    /*
     * A node's last words belong to this vote only if they are of its kind, or if it is being
     * connected to again: then they show why it is silent.
     */
    if (session->failure != vote && !comes_back)
        return reason;
    memcpy(out, session->failure_text, REDLOCK_TEXT_MAX);
    return session->failure_reason ? session->failure_reason : reason;
}

void rl_node_keep_undelivered(struct rl_engine *engine, uint8_t node,
                              struct rl_attempt *attempt, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    /* Nothing to release where nothing was ever sent, or where the key has expired. */
    if (!(attempt->touched & (1u << node)) || now_ns >= attempt->expired_by_ns)
        return;
    if (at->undelivered_count == RL_UNDELIVERED_MAX)
        return;
    if (!at->undelivered) {
        at->undelivered = malloc(RL_UNDELIVERED_MAX * sizeof *at->undelivered);
        if (!at->undelivered)
            return;
    }
    if (engine->trace)
        rl_trace_node(engine, node, attempt, 0, "decide",
                      "the release is kept for the node's next connection (A5)");
    attempt->references++;
    at->undelivered[at->undelivered_count++] = attempt;
}

static void send_undelivered(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    uint32_t count = at->undelivered_count;

    at->undelivered_count = 0;
    at->undelivered_sent = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        struct rl_attempt *attempt = at->undelivered[i];
        const struct rl_local_queue *queue =
            attempt->waiter ? rl_local_queue_by_number(&engine->local_queues, attempt->waiter)
                            : NULL;
        /* Keep the queue entry if a waiter still uses this ticket, else remove it. */
        bool keeps_place =
            queue && rl_local_queue_head(queue)->lock.acquisition->ticket == attempt->ticket;

        if (now_ns < attempt->expired_by_ns)
            rl_send_to_node(engine, node, attempt, NULL,
                            keeps_place ? RL_OP_ROLLBACK : RL_OP_QUIT, 0, now_ns);
        rl_attempt_unref(&engine->attempts, attempt);
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
    if (engine->trace)
        rl_trace_node(engine, node, NULL, 0, "node", "connecting");
    send_undelivered(engine, node, now_ns);
    /* Its standing is looked at as soon as it can be. */
    engine->watch_at_ns = now_ns;
}

void rl_engine_disconnected(struct rl_engine *engine, uint8_t node, enum redlock_vote vote,
                            enum redlock_reason reason, const char *text, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    bool nothing_was_sent = !at->connected;

    rl_session_fail(&at->session, vote, reason,
                    at->elected ? rl_elected_words(at->elected, reason, text) : text);
    rl_session_end(&at->session);
    if (engine->trace) {
        rl_trace_node(engine, node, NULL, 0, "node down:", at->session.failure_text);
        at->traced_reason = REDLOCK_REASON_UNCHECKED;
    }
    at->connected = false;
    at->warming = false;
    at->late_us = 0; /* it may not answer at all any more */
    rl_vote_lose_kept(engine, node, now_ns);
    if (at->elected)
        rl_elected_request(engine, node, RL_ELECTORS_AT_ONCE_NS, now_ns);
    rl_end_requests(engine, node, nothing_was_sent, now_ns);
    rl_sets_give_up(engine, node, now_ns);
}
