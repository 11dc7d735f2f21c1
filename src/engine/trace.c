/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/trace.h"

#include <inttypes.h>
#include <stdio.h>

#include "engine/survey.h"
#include "engine/watch.h"
#include "protocol/answer.h"

#define NUMBERS_MAX 64

/* What a lock does next; of the others there are decisions. */
static const char *const state_words[RL_ENDED + 1] = {
    [RL_ALIGNING] = "aligns the tokens",
    [RL_INQUIRING] = "asks how long it is held",
    [RL_BACKOFF] = "waits for the next attempt (A9)",
    [RL_PARKED] = "waits behind another of this client",
    [RL_TICKETING] = "asks for a place in the queue",
    [RL_QUEUED] = "waits in the queue",
    [RL_RELEASING] = "releases (A6)",
    [RL_CHECKING] = "its key was gone: asks whose is there (A6)",
};

static const char *const event_words[RL_EVENT_TOO_LATE + 1] = {
    [RL_EVENT_WAKE] = "woken",
    [RL_EVENT_CANCEL] = "canceled",
    [RL_EVENT_TOO_LATE] = "taken back: granted after the end of the wait (A9)",
};

static const char *const loss_words[] = {
    [RL_LOSS_EXPIRED] = "its validity ends (A10)",
    [RL_LOSS_MISSING] = "no majority can have its key (A7)",
    [RL_LOSS_UNTRUSTED] = "nodes or the clock that it rested on are in doubt (G6)",
};

/* The rule by which a node does not count, as docs/guards.md numbers them. */
static const char *rule_of(enum redlock_reason reason)
{
    if (reason == REDLOCK_REASON_SILENT || reason == REDLOCK_REASON_LATE)
        return " (A2)";
    if (reason == REDLOCK_REASON_NOT_ADMITTED)
        return " (G2)";
    if (reason == REDLOCK_REASON_MAX_TTL)
        return " (G4)";
    if (reason == REDLOCK_REASON_CLOCK)
        return " (G6)";
    if (reason >= REDLOCK_REASON_OTHER_SET)
        return " (G8)";
    if (reason >= REDLOCK_REASON_UNCHECKED || reason == REDLOCK_REASON_LOADING ||
        reason == REDLOCK_REASON_REPLICA || reason == REDLOCK_REASON_CLUSTER)
        return " (G1)";
    return "";
}

static struct rl_trace_subject about(const struct rl_engine *engine, uint8_t node,
                                     const struct rl_attempt *attempt, uint32_t round)
{
    return (struct rl_trace_subject){
        .address = engine->node[node].address,
        .keys = attempt ? rl_attempt_key(attempt) : (struct rl_slice){"", 0},
        .round = round,
    };
}

void rl_trace_node(const struct rl_engine *engine, uint8_t node,
                   const struct rl_attempt *attempt, uint32_t round, const char *what,
                   const char *text)
{
    engine->trace->write(engine->trace, about(engine, node, attempt, round), "%s %s", what,
                         text);
}

void rl_trace_reply(const struct rl_engine *engine, uint8_t node,
                    const struct rl_pending *pending, const struct rl_reply *reply)
{
    struct rl_answer answer =
        rl_answer_read((enum rl_op)pending->op, pending->by_script, reply);
    char words[REDLOCK_TEXT_MAX] = "";

    if (reply->scalar.type == RL_REPLY_ERROR)
        rl_session_quote(reply->scalar.text, words);
    else if (answer.vote == REDLOCK_VOTE_GRANTED && answer.token)
        snprintf(words, sizeof words, "token %" PRId64, answer.token);
    else if (answer.vote == REDLOCK_VOTE_TAKEN && answer.place)
        snprintf(words, sizeof words, "place %" PRIu32, answer.place);
    else if (answer.vote == REDLOCK_VOTE_TAKEN && answer.key_ttl_ms >= 0)
        snprintf(words, sizeof words, "for %" PRId64 " ms more", answer.key_ttl_ms);
    engine->trace->write(engine->trace, about(engine, node, pending->subject, pending->round),
                         "reply %s: %s%s%s", rl_ops[pending->op].name,
                         redlock_vote_text((int)answer.vote), words[0] ? ", " : "", words);
}

static void trace_vote(const struct rl_engine *engine, uint8_t node,
                       const struct rl_handle *handle, enum redlock_vote vote)
{
    char words[REDLOCK_TEXT_MAX];
    enum redlock_reason reason = rl_node_explain_vote(engine, node, vote, words);

    if (vote != REDLOCK_VOTE_NONE && vote != REDLOCK_VOTE_PENDING)
        engine->trace->write(engine->trace,
                             about(engine, node, handle->attempt, handle->lock.round),
                             "vote %s%s%s%s", redlock_vote_text((int)vote),
                             words[0] ? ": " : "", words, rule_of(reason));
}

static bool is_attempt(const struct rl_lock *lock)
{
    return lock->state == RL_ACQUIRING || lock->state == RL_ALIGNING;
}

#define DECIDE(...) engine->trace->write(engine->trace, subject, "decide " __VA_ARGS__)

void rl_trace_step(const struct rl_engine *engine, const struct rl_handle *handle,
                   const struct rl_lock *past, const struct rl_node_vote *votes,
                   const struct rl_event *event, const struct rl_actions *actions)
{
    const struct rl_lock *lock = &handle->lock;
    struct rl_trace_subject subject = {.keys = rl_attempt_key(handle->attempt),
                                       .round = lock->round};
    bool begins = lock->state == RL_ACQUIRING && lock->round != past->round;
    bool held = lock->state == RL_HELD;
    int64_t left_ms = (lock->deadline_ns - event->now_ns) / RL_NS_PER_MS;
    unsigned nodes = engine->policy.node_count;
    char token[NUMBERS_MAX] = "";

    for (uint8_t i = 0; i < nodes; i++)
        if (lock->node[i].vote != votes[i].vote)
            trace_vote(engine, i, handle, (enum redlock_vote)lock->node[i].vote);
    if (event_words[event->type] && past->state != RL_ENDED)
        DECIDE("%s", event_words[event->type]);
    if (is_attempt(past) && !held && (begins || !is_attempt(lock)))
        DECIDE("attempt failed: %s, %d of %u granted (A4)",
               redlock_error_name(lock->acquisition->attempt_error),
               begins ? past->tally.yes_count : lock->tally.yes_count, nodes);
    if (begins)
        DECIDE("attempt %" PRIu32 " for %" PRIu32 " ms, %u of %u needed (A2)",
               lock->acquisition->attempt_count, lock->ttl_ms, engine->policy.quorum, nodes);
    if (lock->token)
        snprintf(token, sizeof token, ", token %" PRId64, lock->token);
    if (held && past->state != RL_HELD)
        DECIDE("held: %d of %u granted, valid for %" PRId64 " ms (A3)%s", lock->tally.yes_count,
               nodes, left_ms, token);
    if (lock->extension_count != past->extension_count)
        DECIDE("extended: %d of %u, valid for %" PRId64 " ms (A7)", lock->tally.yes_count,
               nodes, left_ms);
    if (lock->extending && (!past->extending || lock->round != past->round))
        DECIDE("%s for %" PRIu32 " ms", lock->by_watchdog ? "renews (A11)" : "extends (A7)",
               lock->extension_ttl_ms);
    if (actions->jeopardy)
        DECIDE("jeopardy: %s, valid for %" PRId64 " ms (A7, A10)",
               redlock_error_name(lock->jeopardy_error), left_ms);
    if (actions->recovered)
        DECIDE("recovered");
    if (actions->lost)
        DECIDE("lost: %s", loss_words[actions->loss]);
    if (lock->state != past->state && state_words[lock->state])
        DECIDE("%s", state_words[lock->state]);
    if (actions->done && !held)
        DECIDE("ended: %s", redlock_error_name(actions->done_error));
}

void rl_trace_survey(const struct rl_engine *engine, const struct rl_handle *handle)
{
    const struct rl_survey *survey = rl_survey_of(handle);
    struct rl_trace_subject subject = {.keys = rl_attempt_key(handle->attempt),
                                       .round = handle->lock.round};

    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        trace_vote(engine, i, handle, (enum redlock_vote)survey->node[i].vote);
    DECIDE("%s", redlock_error_name(handle->done_error));
}

void rl_trace_standings(struct rl_engine *engine, int64_t now_ns)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_node *at = &engine->node[i];
        char words[REDLOCK_TEXT_MAX];
        enum redlock_reason reason =
            rl_watch_describe(&at->session.guard, now_ns, words, sizeof words);

        if (at->session.state != RL_SESSION_UP || reason == at->traced_reason)
            continue;
        at->traced_reason = reason;
        engine->trace->write(engine->trace, about(engine, i, NULL, 0), "node %s%s%s",
                             reason ? "in quarantine: " : "may vote", words, rule_of(reason));
    }
}
