/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asking every node a question and waiting for the answers or the per-node deadline: who holds
 * a name and who waits for it, or just a sign of life. Writing the nodes' markers (G5) is such a
 * question too.
 */
#ifndef RL_ENGINE_SURVEY_H
#define RL_ENGINE_SURVEY_H

#include "core/lock.h"
#include "protocol/reply.h"

#define RL_SEEN_HOLDERS_MAX 4

/* What one node says about a name: look.lua. */
struct rl_sight {
    int32_t kind;          /* enum redlock_kind; -1: nothing, or nothing of ours */
    uint32_t holder_count; /* the first of them, in the order of their values: */
    char holder[RL_SEEN_HOLDERS_MAX][REDLOCK_VALUE_MAX + 1];
    int64_t ttl_ms[RL_SEEN_HOLDERS_MAX]; /* -1: no expiry */
    int64_t fence;
    uint32_t waiters;
    char head[REDLOCK_VALUE_MAX + 1];
    char group[REDLOCK_OWNER_MAX + 1]; /* owner, or number of slots */
};

struct rl_survey;
typedef void rl_survey_heard_fn(struct rl_survey *survey, uint8_t node,
                                const struct rl_reply *reply);

struct rl_survey {
    const struct rl_policy *policy;
    uint16_t due; /* nodes that have not answered */
    int64_t start_ns;
    int64_t deadline_ns;
    struct rl_node_vote node[REDLOCK_NODES_MAX];
    int64_t key_ttl_ms[REDLOCK_NODES_MAX]; /* -1: unknown */

    /* Set by who asks; they stay from question to question. */
    struct rl_sight *sight; /* LOOK: one for every node */
    struct rl_slice pattern;
    bool bad_counters; /* LIST: only fence counters that no clock can have reached */
    struct rl_slice cursor[REDLOCK_NODES_MAX]; /* LIST; of size 0: do not ask this node */
    rl_survey_heard_fn *heard;                 /* LIST: who reads the replies */
    void *heard_data;
};

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, int64_t now_ns);

/* reply: NULL where the node could not be asked. */
void rl_survey_answer(struct rl_survey *survey, uint8_t node, struct rl_answer answer,
                      const struct rl_reply *reply, int64_t now_ns);

/* The deadline has passed: who has not answered has timed out, unless it is warming up. */
void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns);

bool rl_survey_complete(const struct rl_survey *survey);

/* OK when a majority answered; else why not. */
int rl_survey_error(const struct rl_survey *survey);

/* What the answers say together. */
void rl_survey_conclude(const struct rl_survey *survey, redlock_info *out);

#endif
