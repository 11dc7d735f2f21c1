/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which callbacks is this thread in? A blocking call inside a callback would wait for the driver that
 * runs the callback. Members of one group know of each other: the threads of two quorums, each in a
 * callback that waits for the other quorum, would wait for ever. Frames lie on the stack of the
 * driver.
 */
#ifndef RL_DRIVE_FRAME_H
#define RL_DRIVE_FRAME_H

#include <stdbool.h>

#include "redlock.h"

struct rl_frame {
    const redlock *client;
    struct rl_frame *outer;
};

/* Around a callback of `client`. */
void rl_frame_enter(struct rl_frame *frame, const redlock *client);
void rl_frame_leave(const struct rl_frame *frame);

/* Is this thread in a callback of the client, or of another of its group? */
bool rl_is_in_callback_of(const redlock *client);

#endif
