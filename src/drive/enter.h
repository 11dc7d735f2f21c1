/* SPDX-License-Identifier: BSD-2-Clause */
/* What every public call checks first: its process, the client, the callbacks its thread is in. */
#ifndef RL_DRIVE_ENTER_H
#define RL_DRIVE_ENTER_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock.h"

/*
 * Which process is this? A number that differs between a process and its forked children,
 * without a system call per question, and is never 0. It also notices a bare clone(2) that runs no
 * atfork handlers: the number lives in a page that the kernel wipes in the child.
 */
uint32_t rl_process_stamp(void);

/* May this process use the client? Without the mutex. */
int rl_client_check(const redlock *client);
bool rl_client_is_forked(const redlock *client);

/* The same, and that it is open; a call that blocks is refused in a callback. On success the mutex
 * is held. */
int rl_client_enter(redlock *client, bool blocking);
/*
 * Gives the mutex back, and frees the struct if neither its owner nor a handle needs it any
 * more.
 */
void rl_client_leave(redlock *client);

/*
 * Which callbacks is this thread in? A blocking call inside a callback would wait for the driver
 * that runs the callback. Members of one group know of each other: the threads of two quorums,
 * each in a callback that waits for the other quorum, would wait for ever. Frames lie on the
 * stack of the driver.
 */
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
