/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The holder that is in the way of an acquisition, as the refusing nodes name it: for the message
 * of a refusal and for a caller that waits. One value is kept, not one for every node. It gives
 * way to another only when no node names it any more, so that the holder on most nodes stays.
 */
#ifndef RL_ENGINE_BLOCKER_H
#define RL_ENGINE_BLOCKER_H

#include "core/answer.h"
#include "redlock.h"

struct rl_handle;

struct rl_blocker {
    uint16_t nodes; /* that name it, a bit each; 0: it is gone, or never was */
    uint8_t size;
    uint32_t waiters; /* on the node that told most */
    int64_t since_ns; /* when it was first named */
    int64_t ends_ns;  /* the latest that its keys may live, as far as told; 0: unknown */
    char value[REDLOCK_VALUE_MAX];
};

/* What a node answered to an attempt or an inquiry. */
void rl_blocker_note(struct rl_blocker *blocker, uint8_t node, const struct rl_answer *answer,
                     int64_t now_ns);

/* Of a waiter that is not at the head of its local queue: the head's. NULL: there is none. */
const struct rl_blocker *rl_blocker_of(const struct rl_handle *handle);

#endif
