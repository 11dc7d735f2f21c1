/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving a client: one turn waits, handles what came, runs callbacks, sends what is due. */
#ifndef RL_DRIVE_TURN_H
#define RL_DRIVE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock.h"

/* The mutex is held, and no other thread drives. Returns the number of callbacks run. */
int rl_turn(redlock *client, int timeout_ms);

/* What is due by now: deadlines, reconnects, renewals. The mutex is held. */
void rl_tick(redlock *client, int64_t now_ns);

/*
 * Makes the driver look at what has been started, or the descriptor readable where there is
 * none.
 */
void rl_wake(redlock *client);

/* Runs a callback without the mutex, which is held before and after. */
void rl_run_callback(redlock *client, redlock_lock *lock, redlock_done_fn *function, int error,
                     void *data);

/*
 * A9, at the last moment: has a finite wait (wait_deadline_ns > 0) ended? Waits without an end, and
 * requests that are tried once, read no clock.
 */
bool rl_is_too_late(int64_t wait_deadline_ns);

/* redlock_fd() and redlock_process() of one client. */
int rl_client_fd(redlock *client);
int rl_client_process(redlock *client, int timeout_ms);

#endif
