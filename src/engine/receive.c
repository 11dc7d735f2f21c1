/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/receive.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/link.h"
#include "engine/send.h"
#include "engine/sets.h"
#include "engine/survey.h"
#include "engine/trace.h"
#include "engine/watch.h"
#include "protocol/answer.h"
#include "protocol/value.h"

#define RTT_SMOOTHING 8

/* ---- to the lock ---- */

/*
 * A release that found waiters has woken one; this client yields to them. A native delete wakes
 * no client, so we do it here.
 */
static void wake_waiters(struct rl_engine *engine, struct rl_attempt *attempt, uint8_t node,
                         enum rl_op op, const struct rl_answer *answer, int64_t now_ns)
{
    if (answer->vote != REDLOCK_VOTE_GRANTED)
        return;
    if (answer->contended || op == RL_OP_WAITERS)
        rl_yield_begin(engine, attempt, now_ns);
    if (op == RL_OP_ROLLBACK && rl_node_deletes_natively(engine, node, attempt))
        rl_send_to_node(engine, node, attempt, NULL, RL_OP_WAITERS, 0, now_ns);
    else if (op == RL_OP_WAITERS)
        rl_send_to_node(engine, node, attempt, NULL, RL_OP_WAKE, 0, now_ns);
}

/*
 * Does the holder that a node names have the tag of this request, while another request made
 * its value? A number that stands for that value; 0: no.
 */
static uint32_t number_of_same_tag(const struct rl_pending_acquire *acquire,
                                   const struct rl_answer *answer)
{
    struct rl_value holder;
    uint32_t number = 0;

    if (!rl_value_read(answer->holder, &holder) || holder.tag.size != acquire->tag_size ||
        memcmp(holder.tag.data, acquire->tag, holder.tag.size) != 0 ||
        memcmp(holder.random.data, acquire->digits, sizeof acquire->digits) == 0)
        return 0;
    for (size_t i = 0; i < holder.random.size; i++)
        number = number * 31 + (unsigned char)holder.random.data[i];
    return number ? number : 1;
}

void rl_deliver_answer(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                       const struct rl_reply *reply, const struct rl_answer *answer,
                       int64_t now_ns)
{
    struct rl_attempt *attempt = pending->subject;
    struct rl_handle *handle = attempt->handle;
    struct rl_pending_acquire *acquire = handle ? rl_pending_acquire_of(handle) : NULL;
    struct rl_survey *survey = acquire ? acquire->survey : NULL;
    enum rl_op op = (enum rl_op)pending->op;
    struct rl_event event = {
        .type = RL_EVENT_ANSWER,
        .now_ns = now_ns,
        .node = node,
        .op = op,
        .round = pending->round,
    };

    if (rl_ops[op].outlives_lock) {
        if (op != RL_OP_RELEASE || answer->contended)
            wake_waiters(engine, attempt, node, op, answer, now_ns);
        if (attempt->handed_over)
            rl_local_queue_note_release(engine, node, pending, answer);
        if (op != RL_OP_RELEASE)
            return;
    }
    /* The lock has given this attempt up: another attempt is under way, or the
     * handle was freed. */
    if (!handle)
        return;
    if (survey) {
        /* A late answer to a survey that is over does not belong to the next one. */
        if (pending->round == handle->lock.round && survey->due)
            rl_survey_receive(engine, handle, node, op, reply, *answer, now_ns);
        return;
    }
    if (acquire && (answer->names_holder || acquire->current_holder.nodes) &&
        (rl_ops[op].acquires || op == RL_OP_INQUIRE))
        rl_current_holder_note(&acquire->current_holder, node, answer, now_ns);
    event.answer = *answer;
    if (acquire && acquire->tag_size && answer->names_holder)
        event.answer.same_tag = number_of_same_tag(acquire, answer);
    rl_handle_step(engine, handle, &event);
}

/* ---- a request whose script the server needs ---- */

/* Is the round of this request still on, that is, is no rollback or release behind it? */
static bool is_round_alive(const struct rl_handle *handle, const struct rl_pending *pending)
{
    if (!handle || pending->round != handle->lock.round)
        return false;
    if (rl_survey_of(handle))
        return true;
    switch (handle->lock.state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
    case RL_TICKETING:
    case RL_HELD:
        return true;
    case RL_INQUIRING:
    case RL_CHECKING:
        return pending->op == RL_OP_INQUIRE;
    default:
        return false;
    }
}

/*
 * The server forgot the script (restart, SCRIPT FLUSH), or needs one now: the same request with
 * its text. A request of a round that is over is not repeated: a late acquire would come after
 * its rollback.
 */
static bool repeat_with_text(struct rl_engine *engine, uint8_t node,
                             const struct rl_pending *pending, int64_t now_ns)
{
    struct rl_attempt *attempt = pending->subject;
    enum rl_op op = (enum rl_op)pending->op;

    if (!rl_ops[op].outlives_lock && !is_round_alive(attempt->handle, pending))
        return false;
    /* An acquire behind its own release would stay for its whole TTL (A5). */
    if (rl_ops[op].sets_key && (attempt->returned & (1u << node)))
        return false;
    return rl_send_to_node_by_text(engine, node, attempt, attempt->handle, op, pending->round,
                                   now_ns);
}

/* ---- from the connection ---- */

/* What the replies in front of this one have shown; and a refusal may hint at a
 * new term (E10). */
static void receive_elected(struct rl_engine *engine, uint8_t node,
                            const struct rl_reply *reply, int64_t now_ns)
{
    rl_elected_look(engine, node, now_ns);
    if (reply->scalar.type == RL_REPLY_ERROR)
        rl_elected_request(engine, node, RL_ELECTORS_AT_ONCE_NS, now_ns);
}

/* One reply to a request of an attempt. */
static void handle_reply(struct rl_engine *engine, uint8_t node,
                         const struct rl_pending *pending, const struct rl_reply *reply,
                         int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_attempt *attempt = pending->subject;
    struct rl_answer answer;
    /*
     * A server whose memory is used up refuses every SET, also one that only renews. The script
     * renews without new memory: from now on this connection uses that.
     */
    bool is_full = reply->scalar.type == RL_REPLY_ERROR && pending->op == RL_OP_EXTEND &&
                   !pending->by_script && rl_slice_starts(reply->scalar.text, "OOM");

    if (is_full)
        at->session.abilities.set_ifeq = false;
    if ((is_full || rl_reply_is_noscript(reply)) &&
        repeat_with_text(engine, node, pending, now_ns)) {
        /* The release is behind the attempt that was to follow it now. */
        rl_local_queue_note_release(engine, node, pending,
                                    &(struct rl_answer){.vote = REDLOCK_VOTE_ERROR});
    } else {
        if (rl_ops[pending->op].times_node && attempt->handle &&
            pending->round == attempt->handle->lock.round) {
            int64_t took_ns = now_ns - attempt->handle->lock.round_start_ns;

            if (took_ns <= engine->policy.node_timeout_ns)
                at->late_us = 0;
            if (at->rtt_us < 0)
                at->rtt_us = rl_rtt_us(took_ns);
            else
                at->rtt_us += (rl_rtt_us(took_ns) - at->rtt_us) / RTT_SMOOTHING;
        }
        if (rl_ops[pending->op].restarts_ttl)
            rl_attempt_note_expiry(attempt, now_ns);
        if (!rl_vote_judge(engine, node, pending, reply, now_ns, &answer))
            return;
        rl_deliver_answer(engine, node, pending, reply, &answer, now_ns);
    }
    rl_attempt_unref(&engine->attempts, attempt);
}

/* reply: NULL when the connection has ended: those grants are not counted. */
static void receive_attestation(struct rl_engine *engine, uint8_t node,
                                const struct rl_reply *reply, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_answer attestation;

    if (reply && !rl_vote_read_attestation(engine, node, reply, now_ns, &attestation))
        return;
    for (uint32_t i = 0; i < at->unconfirmed_count; i++) {
        struct rl_unconfirmed grant = at->unconfirmed[i];
        struct rl_answer answer = rl_vote_when_unreachable(engine, node);

        if (reply &&
            !rl_vote_judge_by_attestation(engine, node, &grant, &attestation, now_ns, &answer))
            continue;
        rl_deliver_answer(engine, node, &grant.pending, NULL, &answer, now_ns);
        rl_attempt_unref(&engine->attempts, grant.pending.subject);
    }
    at->unconfirmed_count = 0;
}

/* -1: the session has failed. */
static int receive(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_pending pending;
    struct rl_reply reply;
    int64_t delay_ns = now_ns - at->session.progress_ns - engine->unwatched_ns;
    int status;

    /* At least so long: with several requests under way it was longer. */
    if (delay_ns > engine->policy.node_timeout_ns && at->session.pending.sent_count > 0)
        rl_node_note_delay(engine, node, delay_ns);
    at->received_ns = now_ns;
    at->session.input_end += size;
    while ((status = rl_session_next(&at->session, &pending, &reply, now_ns)) > 0) {
        if (at->session.set_news)
            rl_sets_judge(engine, node, now_ns);
        /* A forgotten script is no failure: it is sent again with its text. */
        if (reply.scalar.type == RL_REPLY_ERROR && !rl_reply_is_noscript(&reply))
            rl_session_refused(&at->session, reply.scalar.text);
        if (at->elected)
            receive_elected(engine, node, &reply, now_ns);
        if (engine->trace)
            rl_trace_standings(engine, now_ns);
        if (engine->trace && pending.subject)
            rl_trace_reply(engine, node, &pending, &reply);
        if (pending.subject)
            handle_reply(engine, node, &pending, &reply, now_ns);
        else
            receive_attestation(engine, node, &reply, now_ns);
        /* It has forgotten who we are: what follows would be refused as well. */
        if (reply.scalar.type == RL_REPLY_ERROR && rl_slice_starts(reply.scalar.text, "NOAUTH"))
            return -1;
    }
    if (at->session.set_news)
        rl_sets_judge(engine, node, now_ns);
    if (at->elected)
        rl_elected_look(engine, node, now_ns);
    rl_vote_give_kept(engine, node, now_ns);
    if (at->session.state == RL_SESSION_UP)
        at->warming = false;
    if (engine->trace)
        rl_trace_standings(engine, now_ns);
    if (status == 0 && (engine->clock_trial || at->session.guard.step_ns != 0 ||
                        at->session.guard.state == RL_GUARD_QUARANTINED))
        rl_watch_look(engine, node, now_ns);
    return status;
}

int rl_link_received(struct rl_link *link, size_t size, int64_t now_ns)
{
    int status = 0;

    switch (link->role) {
    case RL_LINK_NODE:
        status = receive(link->engine, link->node, size, now_ns);
        break;
    case RL_LINK_SUBSCRIBER:
        status = rl_subscriber_received(link->engine, link->node, size, now_ns);
        break;
    case RL_LINK_ELECTOR:
        status = rl_elected_received(link->engine, link->node, link->elector, size, now_ns);
        break;
    }

    if (link->session->state == RL_SESSION_UP)
        link->failure_count = 0;
    if (status == RL_SUBSCRIBER_FLOODED)
        link->failure_count = RL_LINK_FAILURES_OF_LONGEST_DELAY;
    return status;
}

void rl_end_requests(struct rl_engine *engine, uint8_t node, bool nothing_was_sent,
                     int64_t now_ns)
{
    struct rl_pending pending;

    receive_attestation(engine, node, NULL, now_ns);
    while (rl_pending_pop(&engine->node[node].session.pending, &pending)) {
        struct rl_attempt *attempt = pending.subject;
        struct rl_answer answer = rl_vote_when_unreachable(engine, node);

        if (!attempt)
            continue;
        if (rl_ops[pending.op].acquires && nothing_was_sent)
            attempt->touched &= (uint16_t) ~(1u << node);
        else if (rl_ops[pending.op].restarts_ttl)
            rl_attempt_note_expiry(attempt, now_ns);
        if (rl_ops[pending.op].deletes_key)
            rl_node_keep_undelivered(engine, node, attempt, now_ns);
        rl_deliver_answer(engine, node, &pending, NULL, &answer, now_ns);
        rl_attempt_unref(&engine->attempts, attempt);
    }
}
