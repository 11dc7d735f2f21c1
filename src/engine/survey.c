/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/survey.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/receive.h"
#include "engine/send.h"
#include "engine/sets.h"
#include "engine/trace.h"

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, int64_t now_ns)
{
    survey->policy = policy;
    survey->due = policy->all_nodes;
    survey->start_ns = now_ns;
    survey->deadline_ns = now_ns + policy->node_timeout_ns;
    for (uint8_t i = 0; i < policy->node_count; i++) {
        survey->node[i] = (struct rl_node_vote){REDLOCK_VOTE_PENDING, -1};
        survey->key_ttl_ms[i] = -1;
        if (survey->sight)
            survey->sight[i] = (struct rl_sight){.kind = -1};
    }
}

void rl_survey_set_cursors(struct rl_survey *survey)
{
    for (uint8_t i = 0; i < REDLOCK_NODES_MAX; i++)
        memcpy(survey->cursor[i], "0", 2);
}

bool rl_survey_has_listed_all(const struct rl_survey *survey, uint8_t node)
{
    return survey->node[node].vote == REDLOCK_VOTE_GRANTED &&
           strcmp(survey->cursor[node], "0") == 0;
}

void rl_survey_answer(struct rl_survey *survey, uint8_t node, struct rl_answer answer,
                      const struct rl_reply *reply, int64_t now_ns)
{
    uint16_t bit = (uint16_t)(1u << node);
    struct rl_node_vote *vote = &survey->node[node];
    struct rl_slice next;

    if (!(survey->due & bit))
        return;
    survey->due &= (uint16_t)~bit;
    vote->vote = answer.vote;
    survey->key_ttl_ms[node] = answer.key_ttl_ms;
    if (!answer.is_synthetic)
        vote->rtt_us = rl_rtt_us(now_ns - survey->start_ns);
    if (survey->sight && reply &&
        (answer.vote == REDLOCK_VOTE_TAKEN || answer.vote == REDLOCK_VOTE_MISSING))
        rl_sight_read(reply, &survey->sight[node]);
    if (!survey->listed || !reply || answer.vote != REDLOCK_VOTE_GRANTED)
        return;
    /* {next cursor, key, key, ...}: list.lua. */
    next = reply->element[0].text;
    if (reply->element[0].type != RL_REPLY_BULK || next.size == 0 ||
        next.size >= RL_CURSOR_MAX) {
        vote->vote = REDLOCK_VOTE_PROTO;
        return;
    }
    *rl_slice_append(survey->cursor[node], next) = '\0';
    for (uint32_t i = 1; i < reply->element_count; i++) {
        struct rl_slice key = reply->element[i].text;

        if (reply->element[i].type != RL_REPLY_BULK || key.size < survey->tag_size[node])
            continue;
        key.data += survey->tag_size[node];
        key.size -= survey->tag_size[node];
        survey->listed(survey->listed_data, node, key);
    }
}

void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns)
{
    if (now_ns < survey->deadline_ns)
        return;
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        if (survey->due & ~warming & (1u << i))
            survey->node[i].vote = REDLOCK_VOTE_SILENT;
    survey->due &= warming;
    survey->deadline_ns = warm_at_ns;
}

static uint8_t count_votes(const struct rl_survey *survey, enum redlock_vote vote)
{
    return rl_count_votes(survey->policy, survey->node, vote);
}

int rl_survey_error(const struct rl_survey *survey)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t tolerated = (uint8_t)(survey->policy->node_count - quorum);
    uint8_t answered = (uint8_t)(count_votes(survey, REDLOCK_VOTE_GRANTED) +
                                 count_votes(survey, REDLOCK_VOTE_TAKEN) +
                                 count_votes(survey, REDLOCK_VOTE_MISSING));

    if (answered >= quorum)
        return REDLOCK_OK;
    if (count_votes(survey, REDLOCK_VOTE_AUTH) + count_votes(survey, REDLOCK_VOTE_NOPERM) >
        tolerated)
        return REDLOCK_AUTH;
    if (count_votes(survey, REDLOCK_VOTE_PROTO) > tolerated)
        return REDLOCK_PROTO;
    return REDLOCK_NOQUORUM;
}

/* ---- by a handle ---- */

static void survey_progress(struct rl_engine *engine, struct rl_handle *handle)
{
    const struct rl_survey *survey = rl_survey_of(handle);

    if (survey->due) {
        rl_timers_set(&engine->timers, &handle->timer, survey->deadline_ns);
        return;
    }
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    if (handle->done)
        return;
    handle->done = true;
    handle->done_error = (int8_t)rl_survey_error(survey);
    if (engine->trace)
        rl_trace_survey(engine, handle);
    /* The survey may go while answers are still to come: they belong to a round
     * that is over. */
    handle->lock.round++;
    rl_engine_add_ready(engine, handle);
}

void rl_handle_survey(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                      struct rl_survey *survey, int64_t now_ns)
{
    handle->done = false;
    rl_pending_acquire_of(handle)->survey = survey;
    handle->lock.round++;
    handle->lock.round_start_ns = now_ns;
    rl_survey_begin(survey, &engine->policy, now_ns);
    /* A series of requests is about one attempt. */
    if (!handle->attempt->value_size &&
        rl_attempt_draw_value(engine, handle->attempt, rl_pending_acquire_of(handle), 0) < 0) {
        handle->done = true;
        handle->done_error = REDLOCK_SYSTEM;
        rl_engine_add_ready(engine, handle);
        return;
    }
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_session *session = &engine->node[i].session;
        /* Of those that are up the plan of an init has seen that they can be used. */
        bool may_send = op != RL_OP_ADMIT || session->state == RL_SESSION_UP;
        struct rl_answer unsent;

        if (engine->node[i].login.tag)
            survey->tag_size[i] = (uint8_t)strlen(engine->node[i].login.tag);
        /* A node that has listed everything gets no more requests. */
        if (op == RL_OP_LIST && !survey->cursor[i][0]) {
            survey->due &= (uint16_t) ~(1u << i);
            continue;
        }
        /* Whether a deletion lasts, the electors decide (E13): --wait repeats it
         * until it does. */
        if (op == RL_OP_BREAK && engine->node[i].elected)
            rl_elected_request(engine, i, RL_ELECTORS_EVERY_NS, now_ns);
        if (may_send &&
            rl_send_to_node(engine, i, handle->attempt, handle, op, handle->lock.round, now_ns))
            continue;
        unsent = rl_vote_when_unreachable(engine, i);
        /* Being connected to again: the last attempt shows why it has not answered. */
        if (!may_send && session->state == RL_SESSION_GREETING && session->failure_text[0])
            unsent.vote = session->failure;
        rl_survey_answer(survey, i, unsent, NULL, now_ns);
    }
    survey_progress(engine, handle);
}

void rl_survey_receive(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                       enum rl_op op, const struct rl_reply *reply, struct rl_answer answer,
                       int64_t now_ns)
{
    struct rl_survey *survey = rl_survey_of(handle);

    if (op == RL_OP_LOOK && reply && answer.vote == REDLOCK_VOTE_TAKEN) {
        answer.key_ttl_ms = rl_reply_integer(reply, 1, -1);
        if (answer.key_ttl_ms > REDLOCK_WAIT_MAX_MS)
            answer.key_ttl_ms = REDLOCK_WAIT_MAX_MS;
    }
    /*
     * A hold that was renewed last on a majority has the renewed key on a node that answers
     * now, since two majorities share one: so long may its holder believe in it.
     */
    if (op == RL_OP_BREAK && answer.vote == REDLOCK_VOTE_GRANTED) {
        int64_t longest_ms = survey->evicted->remaining_ms;

        if (survey->evicted->votes == 0)
            rl_holder_read(answer.holder, survey->evicted);
        survey->evicted->votes++;
        survey->evicted->remaining_ms =
            answer.key_ttl_ms > longest_ms ? answer.key_ttl_ms : longest_ms;
    }
    rl_survey_answer(survey, node, answer, reply, now_ns);
    survey_progress(engine, handle);
}

void rl_survey_tick(struct rl_engine *engine, struct rl_handle *handle, uint16_t warming,
                    int64_t warm_at_ns, int64_t now_ns)
{
    if (now_ns >= rl_survey_of(handle)->deadline_ns)
        rl_sets_wait_no_more(engine, warming, now_ns);
    rl_survey_timer(rl_survey_of(handle), warming, warm_at_ns, now_ns);
    survey_progress(engine, handle);
}
