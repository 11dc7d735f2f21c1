/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one node reports about a name: its holders and its queue, from the replies of look.lua
 * and break.lua. Texts are as callers get them (protocol/value.h). Until the answers are put
 * together, held_ms of a holder is the stamp of its value.
 */
#ifndef RL_PROTOCOL_SIGHT_H
#define RL_PROTOCOL_SIGHT_H

#include "base/slice.h"
#include "protocol/reply.h"
#include "redlock.h"

struct rl_sight {
    int32_t kind;          /* enum redlock_kind; -1: nothing, or nothing of ours */
    uint32_t holder_count; /* the first of them, in the order of their values: */
    redlock_holder holder[REDLOCK_SHOWN_MAX];
    int64_t fence;
    uint32_t waiters;
    uint32_t shown_waiter_count; /* from the head on */
    redlock_waiter waiter[REDLOCK_SHOWN_MAX];
    char group[REDLOCK_OWNER_MAX + 1]; /* owner, or number of slots */
};

/* The reply must be one that rl_answer_read() has not called PROTO. */
void rl_sight_read(const struct rl_reply *reply, struct rl_sight *out);

/* Value, label and stamp; the rest is set to unknown. */
void rl_holder_read(struct rl_slice value, redlock_holder *out);
/* From the stamp to how long that was ago, by this machine's wall clock. */
void rl_holder_set_age(redlock_holder *holder, int64_t wall_ms);

#endif
