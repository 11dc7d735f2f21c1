/* SPDX-License-Identifier: BSD-2-Clause */
/* What one node says about a name: its holders and its queue, from the reply of look.lua. */
#ifndef RL_PROTOCOL_SIGHT_H
#define RL_PROTOCOL_SIGHT_H

#include "protocol/reply.h"
#include "redlock.h"

#define RL_SEEN_HOLDERS_MAX 4

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

/* The reply must be one that rl_answer_read() has not called PROTO. */
void rl_sight_read(const struct rl_reply *reply, struct rl_sight *out);

#endif
