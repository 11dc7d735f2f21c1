/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing news to the owners of handles: outcomes, losses, jeopardy. */
#ifndef RL_DRIVE_DELIVER_H
#define RL_DRIVE_DELIVER_H

#include "redlock.h"
#include <stdbool.h>
#include <stdint.h>

/* Brings all news; the number of callbacks that ran. */
int rl_deliver_all(redlock *client);

/* Runs a callback without the mutex, which is held before and after. */
void rl_run_callback(redlock *client, redlock_lock *lock, redlock_done_fn *function, int error,
                     void *data);

/*
 * A9, at the last moment: has a finite wait (deadline_ns > 0) ended? Waits without an end, and
 * requests that are tried once, read no clock.
 */
bool rl_is_too_late(int64_t wait_deadline_ns);

#endif
