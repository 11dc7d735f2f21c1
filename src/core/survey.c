/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/survey.h"

#include <string.h>

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, bool about_key,
                     int64_t now_ns)
{
    uint16_t all = (uint16_t)((1u << policy->node_count) - 1);

    *survey = (struct rl_survey){
        .policy = policy,
        .value_due = all,
        .ttl_due = about_key ? all : 0,
        .fence_due = about_key ? all : 0,
        .start_ns = now_ns,
        .deadline_ns = now_ns + policy->node_timeout_ns,
    };
    for (uint8_t i = 0; i < policy->node_count; i++)
        survey->node[i] = (struct rl_node_vote){REDLOCK_VOTE_PENDING, -1, -1, 0};
}

static void note_value(struct rl_survey *survey, uint8_t node, struct rl_slice value)
{
    size_t size = value.size < REDLOCK_VALUE_MAX ? value.size : REDLOCK_VALUE_MAX;

    memcpy(survey->holder[node], value.data, size);
    survey->holder[node][size] = '\0';
}

void rl_survey_answer(struct rl_survey *survey, uint8_t node, enum rl_op op,
                      struct rl_answer answer, struct rl_slice value, int64_t now_ns)
{
    uint16_t bit = (uint16_t)(1u << node);
    struct rl_node_vote *vote = &survey->node[node];

    if (op == RL_OP_INQUIRE) {
        if ((survey->ttl_due & bit) && answer.vote == REDLOCK_VOTE_HELD) {
            vote->key_ttl_ms = answer.key_ttl_ms;
            /* There is a key, only its value is empty. */
            if (vote->vote == REDLOCK_VOTE_MISSING)
                vote->vote = REDLOCK_VOTE_HELD;
        }
        survey->ttl_due &= (uint16_t)~bit;
        return;
    }
    if (op == RL_OP_FENCE) {
        if (survey->fence_due & bit)
            vote->token = answer.token;
        survey->fence_due &= (uint16_t)~bit;
        return;
    }
    if (!(survey->value_due & bit))
        return;
    survey->value_due &= (uint16_t)~bit;
    vote->vote = (uint8_t)answer.vote;
    if (!answer.is_ours)
        vote->rtt_us = (int32_t)((now_ns - survey->start_ns) / 1000);
    if (answer.vote == REDLOCK_VOTE_HELD && value.size > 0)
        note_value(survey, node, value);
}

void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns)
{
    if (now_ns < survey->deadline_ns)
        return;
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        if (survey->value_due & ~warming & (1u << i))
            survey->node[i].vote = REDLOCK_VOTE_TIMEDOUT;
    survey->value_due &= warming;
    survey->ttl_due &= warming;
    survey->fence_due &= warming;
    survey->deadline_ns = warm_at_ns;
}

bool rl_survey_complete(const struct rl_survey *survey)
{
    return !(survey->value_due | survey->ttl_due | survey->fence_due);
}

static uint8_t count_votes(const struct rl_survey *survey, enum redlock_vote vote)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        count += survey->node[i].vote == vote;
    return count;
}

int rl_survey_error(const struct rl_survey *survey)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t spare = (uint8_t)(survey->policy->node_count - quorum);
    uint8_t answered = (uint8_t)(count_votes(survey, REDLOCK_VOTE_GRANTED) +
                                 count_votes(survey, REDLOCK_VOTE_HELD) +
                                 count_votes(survey, REDLOCK_VOTE_MISSING));

    if (answered >= quorum)
        return REDLOCK_OK;
    if (count_votes(survey, REDLOCK_VOTE_AUTH) > spare)
        return REDLOCK_AUTH;
    if (count_votes(survey, REDLOCK_VOTE_PROTO) > spare)
        return REDLOCK_PROTO;
    return REDLOCK_NOQUORUM;
}

static uint8_t count_holder(const struct rl_survey *survey, uint8_t of)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        count += survey->node[i].vote == REDLOCK_VOTE_HELD &&
                 strcmp(survey->holder[i], survey->holder[of]) == 0;
    return count;
}

/*
 * The value stays on a majority until so many of its keys are gone that a majority is not left:
 * that is the (votes - quorum + 1)-th expiry. A minority value counts to its last key.
 */
static int64_t remaining_ms(const struct rl_survey *survey, uint8_t of, uint8_t votes)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t rank = votes >= quorum ? (uint8_t)(votes - quorum) : (uint8_t)(votes - 1);
    int64_t sorted_ms[REDLOCK_NODES_MAX];
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        int64_t ttl_ms = survey->node[i].key_ttl_ms;
        uint8_t at = count;

        if (survey->node[i].vote != REDLOCK_VOTE_HELD ||
            strcmp(survey->holder[i], survey->holder[of]) != 0)
            continue;
        if (ttl_ms < 0)
            ttl_ms = INT64_MAX;
        for (; at > 0 && sorted_ms[at - 1] > ttl_ms; at--)
            sorted_ms[at] = sorted_ms[at - 1];
        sorted_ms[at] = ttl_ms;
        count++;
    }
    return sorted_ms[rank] == INT64_MAX ? -1 : sorted_ms[rank];
}

/* Single nodes may be ahead: grants that were rolled back count there too. */
static int64_t fence_of_majority(const struct rl_survey *survey)
{
    int64_t fence = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        uint8_t reached_count = 0;

        for (uint8_t j = 0; j < survey->policy->node_count; j++)
            reached_count += survey->node[j].token >= survey->node[i].token;
        if (reached_count >= survey->policy->quorum && survey->node[i].token > fence)
            fence = survey->node[i].token;
    }
    return fence;
}

void rl_survey_conclude(const struct rl_survey *survey, redlock_info *out)
{
    uint8_t best = 0;
    uint8_t votes = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        if (survey->node[i].vote != REDLOCK_VOTE_HELD || count_holder(survey, i) <= votes)
            continue;
        best = i;
        votes = count_holder(survey, i);
    }
    out->fence = fence_of_majority(survey);
    out->held = votes >= survey->policy->quorum;
    out->votes = votes;
    out->ttl_ms = votes ? remaining_ms(survey, best, votes) : -1;
    memset(out->holder, 0, sizeof out->holder);
    if (votes)
        strcpy(out->holder, survey->holder[best]);
}
