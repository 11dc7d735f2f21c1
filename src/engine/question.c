/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to every node: a handle with a survey instead of a lock. */
#include "engine/engine.h"

#define NO_IDENTITY "its identity is unknown: INFO must be allowed"

static void ask_node(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                     enum rl_op op, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;
    struct rl_survey *survey = rl_survey_of(handle);
    struct rl_answer unknown = {.vote = REDLOCK_VOTE_ERROR, .key_ttl_ms = -1};

    /* A marker without an identity would admit no node, and shut out the one it named before. */
    if (op == RL_OP_ADMIT && !session->guard.identity[0]) {
        if (session->state != RL_SESSION_DOWN)
            rl_session_fail(session, REDLOCK_VOTE_ERROR,
                            (struct rl_slice){NO_IDENTITY, sizeof NO_IDENTITY - 1});
        else
            unknown = rl_vote_when_unreachable(engine, node);
        rl_survey_answer(survey, node, unknown, NULL, now_ns);
        return;
    }
    if (!rl_ask_node(engine, node, handle->claim, handle, op, handle->lock.round, now_ns))
        rl_survey_answer(survey, node, rl_vote_when_unreachable(engine, node), NULL, now_ns);
}

static void survey_progress(struct rl_engine *engine, struct rl_handle *handle)
{
    const struct rl_survey *survey = rl_survey_of(handle);

    if (!rl_survey_complete(survey)) {
        rl_timers_set(&engine->timers, &handle->timer, survey->deadline_ns);
        return;
    }
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    if (handle->done)
        return;
    handle->done = true;
    handle->done_error = (int8_t)rl_survey_error(survey);
    rl_engine_add_ready(engine, handle);
}

int rl_handle_ask(struct rl_engine *engine, struct rl_handle *handle, enum rl_op question,
                  struct rl_survey *survey, int64_t now_ns)
{
    handle->done = false;
    rl_seeker_of(handle)->survey = survey;
    handle->lock.round++;
    rl_survey_begin(survey, &engine->policy, now_ns);
    /* A series of questions is about one claim. */
    if (!handle->claim->value_size && rl_claim_draw_value(engine, handle->claim, 0) < 0) {
        handle->done = true;
        handle->done_error = REDLOCK_SYSTEM;
        rl_engine_add_ready(engine, handle);
        return 0;
    }
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        /* A node that has listed everything is not asked any more. */
        if (question == RL_OP_LIST && survey->cursor[i].size == 0)
            survey->due &= (uint16_t) ~(1u << i);
        else
            ask_node(engine, handle, i, question, now_ns);
    }
    survey_progress(engine, handle);
    return 0;
}

void rl_question_answer(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                        enum rl_op op, const struct rl_reply *reply, struct rl_answer answer,
                        int64_t now_ns)
{
    if (op == RL_OP_LOOK && reply && answer.vote == REDLOCK_VOTE_HELD) {
        answer.key_ttl_ms = rl_reply_integer(reply, 1, -1);
        if (answer.key_ttl_ms > REDLOCK_WAIT_MAX_MS)
            answer.key_ttl_ms = REDLOCK_WAIT_MAX_MS;
    }
    rl_survey_answer(rl_survey_of(handle), node, answer, reply, now_ns);
    survey_progress(engine, handle);
}

void rl_question_timer(struct rl_engine *engine, struct rl_handle *handle, uint16_t warming,
                       int64_t warm_at_ns, int64_t now_ns)
{
    rl_survey_timer(rl_survey_of(handle), warming, warm_at_ns, now_ns);
    survey_progress(engine, handle);
}
