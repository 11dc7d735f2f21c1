/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the nodes of a quorum are, and what may be relied on with them, in one line each. The
 * command and the service print the same; docs/guarantees.md explains it.
 */
#ifndef CLI_GUARANTEE_H
#define CLI_GUARANTEE_H

#include <redlock.h>
#include <stdbool.h>

#define GUARANTEE_TEXT_MAX 320

struct guarantee {
    uint32_t nodes;
    uint32_t failovers;    /* of them can be replaced by a replica unseen */
    uint32_t groups;       /* of them are Sentinel groups, or votes of a cluster */
    uint32_t cluster;      /* of these are the latter */
    uint32_t sentinels;    /* of the last of these, or the nodes that are queried for it */
    uint32_t idle;         /* of the groups do not vote now */
    int64_t guard_ms;      /* the longest */
    int32_t profile;       /* enum redlock_profile */
    uint32_t safe;         /* of the nodes are connected and pass the safety checks */
    int32_t unsafe_reason; /* enum redlock_reason: of the first that does not */
};

/* Counts one more node of the quorum. */
void guarantee_add(struct guarantee *g, const redlock_node_info *node);

/* All nodes of a quorum. */
struct guarantee guarantee_of(redlock *member);

/* "one server", "a Sentinel group with 3 sentinels", "5 independent servers", "a cluster with 3
 * votes" */
void guarantee_deployment(const struct guarantee *g, char out[GUARANTEE_TEXT_MAX]);

/* "one holder; ..." */
void guarantee_text(const struct guarantee *g, bool guarded, char out[GUARANTEE_TEXT_MAX]);

/* The library's word for an enum redlock_deployment. */
const char *guarantee_deployment_word(int32_t deployment);

/* Do others name its server: of a Sentinel group, or a vote of a cluster? */
bool guarantee_is_elected(const redlock_node_info *node);

struct rl_json;
/* The members deployment and guarantee of the object that is being written. */
void guarantee_json(const struct guarantee *g, bool guarded, struct rl_json *j);
/*
 * What a node reports of its Sentinel group, all null or empty of another: deployment, server,
 * ...
 */
void guarantee_node_json(const redlock_node_info *node, struct rl_json *j);

#endif
