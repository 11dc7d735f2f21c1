/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asking every node a question and waiting for the answers or the per-node deadline: who holds
 * a name (value, remaining life, fence counter), or just a sign of life. Writing the nodes'
 * markers (G5) is such a question too.
 */
#ifndef RL_CORE_SURVEY_H
#define RL_CORE_SURVEY_H

#include "core/lock.h"

struct rl_survey {
    const struct rl_policy *policy;
    uint16_t value_due; /* nodes whose PING, ADMIT or GET is unanswered */
    uint16_t ttl_due;   /* nodes whose PTTL is unanswered */
    uint16_t fence_due; /* nodes whose fence counter is unanswered */
    int64_t start_ns;
    int64_t deadline_ns;
    struct rl_node_vote node[REDLOCK_NODES_MAX];
    char holder[REDLOCK_NODES_MAX][REDLOCK_VALUE_MAX + 1];
};

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, bool about_key,
                     int64_t now_ns);

void rl_survey_answer(struct rl_survey *survey, uint8_t node, enum rl_op op,
                      struct rl_answer answer, struct rl_slice value, int64_t now_ns);

/* The deadline has passed: who has not answered has timed out, unless it is warming up. */
void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns);

bool rl_survey_complete(const struct rl_survey *survey);

/* OK when a majority answered; else why not. */
int rl_survey_error(const struct rl_survey *survey);

/* What the answers say together. */
void rl_survey_conclude(const struct rl_survey *survey, redlock_info *out);

#endif
