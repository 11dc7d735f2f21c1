/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending every node a request, and waiting for the answers or the per-node deadline: which
 * holders and waiters a name has, or only a PING. Writing the nodes' markers (G5) is such a
 * request too. A handle sends it, with a survey instead of a lock.
 */
#ifndef RL_ENGINE_SURVEY_H
#define RL_ENGINE_SURVEY_H

#include "base/slice.h"
#include "core/lock.h"
#include "protocol/reply.h"
#include "protocol/sight.h"

struct rl_engine;
struct rl_handle;
/* A key that a node has listed. */
typedef void rl_listed_fn(void *data, uint8_t node, struct rl_slice key);

#define RL_CURSOR_MAX 24

struct rl_survey {
    const struct rl_policy *policy;
    uint16_t due; /* nodes that have not answered; 0: it is complete */
    int64_t start_ns;
    int64_t deadline_ns;
    struct rl_node_vote node[REDLOCK_NODES_MAX];
    int64_t key_ttl_ms[REDLOCK_NODES_MAX]; /* -1: unknown */

    /* Set by the caller; they stay from request to request. */
    struct rl_sight *sight;      /* LOOK: one for every node */
    struct rl_slice fingerprint; /* BREAK */
    struct rl_slice tag;         /* BREAK: with a colon; of size 0: by the fingerprint */
    /* BREAK: the holder that had it; of all nodes, the longest remaining_ms */
    redlock_holder *evicted;
    struct rl_slice pattern;
    bool bad_counters; /* LIST: only fence counters that no clock can have reached */
    char cursor[REDLOCK_NODES_MAX][RL_CURSOR_MAX]; /* LIST: of its SCAN; empty: do not send */
    uint8_t tag_size[REDLOCK_NODES_MAX]; /* in front of every key that it lists: of a cluster */
    rl_listed_fn *listed;
    void *listed_data;
};

/* LIST: from the beginning, on every node. */
void rl_survey_set_cursors(struct rl_survey *survey);
/* LIST: after a round, has the node come round? */
bool rl_survey_has_listed_all(const struct rl_survey *survey, uint8_t node);

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, int64_t now_ns);

/* reply: NULL where the node could not be reached. */
void rl_survey_answer(struct rl_survey *survey, uint8_t node, struct rl_answer answer,
                      const struct rl_reply *reply, int64_t now_ns);

/* The deadline has passed: silent nodes have timed out, unless they are warming up. */
void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns);

/* OK when a majority answered; else why not. */
int rl_survey_error(const struct rl_survey *survey);

/*
 * What the answers to a look at a name amount to together: its holders, its queue, its token
 * (conclusion.c). wall_ms: this machine's wall clock.
 */
void rl_survey_conclude(const struct rl_survey *survey, int64_t wall_ms, redlock_info *out);

/* One request to every node (RL_OP_LOOK, RL_OP_PING, RL_OP_ADMIT, ...), sent by a handle. */
void rl_handle_survey(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                      struct rl_survey *survey, int64_t now_ns);
/* One node's answer to it, and its timer. */
void rl_survey_receive(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                       enum rl_op op, const struct rl_reply *reply, struct rl_answer answer,
                       int64_t now_ns);
void rl_survey_tick(struct rl_engine *engine, struct rl_handle *handle, uint16_t warming,
                    int64_t warm_at_ns, int64_t now_ns);

#endif
