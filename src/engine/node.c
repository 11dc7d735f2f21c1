/* SPDX-License-Identifier: BSD-2-Clause */
/* One node's connections as they come and go: requests, replies, what is left undelivered. */
#include <stdlib.h>
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"

#define RTT_SMOOTHING 8

struct rl_answer rl_node_excuse(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_session *session = &engine->node[node].session;

    /* Connected but full of unanswered requests: a node that does not answer. */
    if (session->state != RL_SESSION_DOWN)
        return (struct rl_answer){
            .vote = REDLOCK_VOTE_TIMEDOUT, .is_synthetic = true, .key_ttl_ms = -1};
    return (struct rl_answer){.vote = session->failure, .is_synthetic = true, .key_ttl_ms = -1};
}

void rl_node_keep_orphan(struct rl_engine *engine, uint8_t node, struct rl_claim *claim,
                         int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    /* Nothing to release where nothing was ever sent, or where it has expired by itself. */
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

/* Whoever still waits with the ticket of that attempt keeps its place; else it goes as well. */
static enum rl_op orphan_op(const struct rl_engine *engine, const struct rl_claim *claim)
{
    const struct rl_line *line =
        claim->waiter ? rl_line_of_number(&engine->lines, claim->waiter) : NULL;

    return line && line->first->lock.pursuit->ticket == claim->ticket ? RL_OP_ROLLBACK
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
    /* So that its standing is looked at as soon as it can be. */
    engine->watch_at_ns = now_ns;
}

void rl_engine_connected(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    at->connected = true;
    at->connected_ns = now_ns;
    at->connects++;
}

static bool lets_live(enum rl_op op)
{
    return op == RL_OP_ACQUIRE || op == RL_OP_AGAIN || op == RL_OP_EXTEND || op == RL_OP_HEAL;
}

static void abandon(struct rl_engine *engine, uint8_t node, bool nothing_was_sent,
                    int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_pending request;

    while (rl_session_abandon(&at->session, &request)) {
        struct rl_claim *claim = request.subject;
        struct rl_answer excuse = rl_node_excuse(engine, node);

        if (!claim)
            continue;
        if ((request.op == RL_OP_ACQUIRE || request.op == RL_OP_AGAIN) && nothing_was_sent)
            claim->touched &= (uint16_t) ~(1u << node);
        else if (lets_live((enum rl_op)request.op))
            rl_claim_seen(claim, now_ns);
        if (request.op == RL_OP_RELEASE || request.op == RL_OP_ROLLBACK ||
            request.op == RL_OP_QUIT)
            rl_node_keep_orphan(engine, node, claim, now_ns);
        rl_handle_answer(engine, claim, node, &request, NULL, &excuse, now_ns);
        rl_claim_unref(&engine->claims, claim);
    }
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
    rl_witness_gone(engine, node, now_ns);
    abandon(engine, node, nothing_was_sent, now_ns);
}

/* How long the node took, for requests that are the first of their round. */
static void note_rtt(struct rl_node *node, const struct rl_pending *request, int64_t now_ns)
{
    const struct rl_claim *claim = request->subject;
    int64_t start_ns;
    int32_t rtt_us;

    if (!claim->handle)
        return;
    if (rl_survey_of(claim->handle))
        start_ns = rl_survey_of(claim->handle)->start_ns;
    else if (request->op == RL_OP_ACQUIRE && request->round == claim->handle->lock.round)
        start_ns = claim->handle->lock.round_start_ns;
    else
        return;
    rtt_us = rl_rtt_us(now_ns - start_ns);
    if (node->rtt_us < 0)
        node->rtt_us = rtt_us;
    else
        node->rtt_us += (rtt_us - node->rtt_us) / RTT_SMOOTHING;
}

static void note_error(struct rl_session *session, const struct rl_reply *reply)
{
    /* A forgotten script is no failure: it is sent again with its text. */
    if (reply->scalar.type == RL_REPLY_ERROR && !rl_reply_is_noscript(reply))
        rl_session_fail(session, rl_answer_error_vote(reply->scalar.text), reply->scalar.text);
}

/* Is the round of this request still on, that is, is no rollback or release behind it? */
static bool is_round_alive(const struct rl_handle *handle, const struct rl_pending *request)
{
    if (rl_survey_of(handle))
        return true;
    if (request->round != handle->lock.round)
        return false;
    switch (handle->lock.state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
    case RL_TICKETING:
    case RL_HELD:
        return true;
    default:
        return false;
    }
}

/*
 * The server forgot the script (restart, SCRIPT FLUSH), or needs one now: the same request with
 * its text. What belongs to a round that is over is not repeated: a late acquire would come after its rollback.
 */
static bool repeat_with_text(struct rl_engine *engine, uint8_t node,
                             const struct rl_pending *request, int64_t now_ns)
{
    struct rl_claim *claim = request->subject;
    enum rl_op op = (enum rl_op)request->op;

    if (!rl_outlives_its_handle(op) &&
        (!claim->handle || !is_round_alive(claim->handle, request)))
        return false;
    /* An acquire behind its own release would stay for its whole TTL (A5). */
    if ((op == RL_OP_ACQUIRE || op == RL_OP_AGAIN || op == RL_OP_HEAL) &&
        (claim->returned & (1u << node)))
        return false;
    return rl_ask_node_by_text(engine, node, claim, claim->handle, op, request->round, now_ns);
}

/*
 * A server whose memory is used up refuses every SET, also one that only renews. The script
 * renews without new memory: from now on this connection uses that.
 */
static bool wants_script(struct rl_session *session, const struct rl_pending *request,
                         const struct rl_reply *reply)
{
    if (request->op == RL_OP_EXTEND && !request->by_script &&
        reply->scalar.type == RL_REPLY_ERROR && rl_slice_starts(reply->scalar.text, "OOM")) {
        session->abilities.set_ifeq = false;
        return true;
    }
    return rl_reply_is_noscript(reply);
}

/*
 * True: the answer waits for its witness, and keeps the reference to its claim. So does a renewal
 * of what waits for one: it is worth as much as that.
 */
static bool is_put_off(struct rl_engine *engine, uint8_t node, const struct rl_pending *request,
                       struct rl_answer *answer)
{
    if (answer->vote != REDLOCK_VOTE_GRANTED || !RL_RULE(WITNESS))
        return false;
    if (!request->witnessed &&
        (request->op != RL_OP_EXTEND || !rl_witness_is_awaited(engine, node, request->subject)))
        return false;
    if (rl_witness_await(engine, node, request, answer))
        return true;
    answer->vote = REDLOCK_VOTE_ERROR;
    return false;
}

/*
 * A lock must not outlive the guard of a node that forgot it (G4): what the node allows is known
 * since the greeting. Strict clients have a witness for that, of this moment.
 */
static bool is_beyond_max_ttl(const struct rl_engine *engine, uint8_t node,
                              const struct rl_claim *claim)
{
    int64_t max_ttl_ns = engine->node[node].session.guard.node_max_ttl_ns;

    return max_ttl_ns > 0 && claim->ttl_ns > max_ttl_ns;
}

/*
 * A fenced grant must carry a token that a counter may have given: aligned to any other, the
 * counters of all nodes would end there. The node counts as one that answered an error.
 */
static void refuse_bad_token(struct rl_session *session, const struct rl_claim *claim,
                             struct rl_answer *answer)
{
    static const char text[] = "its fencing token is no number that a counter may have "
                               "reached: see `redlock doctor`, check fencing";

    if (!claim->handle || !claim->handle->lock.terms.fenced || !RL_RULE(TOKEN_RANGE) ||
        (rl_is_token(answer->token) &&
         (answer->owners_token == 0 || rl_is_token(answer->owners_token))))
        return;
    answer->vote = REDLOCK_VOTE_ERROR;
    rl_session_fail(session, REDLOCK_VOTE_ERROR, (struct rl_slice){text, sizeof text - 1});
}

/* One reply to a request of a claim. */
static void hear(struct rl_engine *engine, uint8_t node, const struct rl_pending *request,
                 const struct rl_reply *reply, int64_t now_ns)
{
    struct rl_claim *claim = request->subject;
    enum rl_op op = (enum rl_op)request->op;
    struct rl_answer answer;

    if (wants_script(&engine->node[node].session, request, reply) &&
        repeat_with_text(engine, node, request, now_ns)) {
        /* What follows our release has come in front of it now. */
        rl_note_given_back(engine, node, request,
                           &(struct rl_answer){.vote = REDLOCK_VOTE_ERROR});
    } else {
        answer = rl_answer_read(op, request->by_script, reply);
        note_rtt(&engine->node[node], request, now_ns);
        if (lets_live(op))
            rl_claim_seen(claim, now_ns);
        if ((op == RL_OP_ACQUIRE || op == RL_OP_AGAIN) && answer.vote == REDLOCK_VOTE_GRANTED)
            refuse_bad_token(&engine->node[node].session, claim, &answer);
        if ((op == RL_OP_ACQUIRE || op == RL_OP_AGAIN) && answer.vote == REDLOCK_VOTE_GRANTED &&
            is_beyond_max_ttl(engine, node, claim)) {
            answer.vote = REDLOCK_VOTE_GUARDED;
            answer.beyond_max_ttl = true;
        }
        if (op == RL_OP_ACQUIRE && answer.vote == REDLOCK_VOTE_GRANTED &&
            rl_is_out_of_turn(claim, node)) {
            answer.vote = REDLOCK_VOTE_HELD;
            answer.out_of_turn = true;
        }
        if (is_put_off(engine, node, request, &answer))
            return;
        answer = rl_watch_vote(engine, node, op, answer, now_ns);
        rl_handle_answer(engine, claim, node, request, reply, &answer, now_ns);
    }
    rl_claim_unref(&engine->claims, claim);
}

int rl_engine_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_pending request;
    struct rl_reply reply;
    int status;

    rl_session_received(&at->session, size);
    while ((status = rl_session_next(&at->session, &request, &reply, now_ns)) > 0) {
        note_error(&at->session, &reply);
        if (request.subject)
            hear(engine, node, &request, &reply, now_ns);
        else
            rl_witness_answer(engine, node, &reply, now_ns);
    }
    if (at->session.state == RL_SESSION_UP)
        at->warming = false;
    if (status == 0)
        rl_watch_heard(engine, node, now_ns);
    return status;
}

bool rl_engine_is_stalled(const struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    const struct rl_node *at = &engine->node[node];

    return at->connected && rl_session_is_waiting(&at->session) &&
           now_ns - at->session.progress_ns >= engine->stall_ns;
}
