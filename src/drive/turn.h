/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving a client: one turn waits, handles what came, adds events, sends what is due. */
#ifndef RL_DRIVE_TURN_H
#define RL_DRIVE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time.h"
#include "redlock.h"

/* The mutex is held, and no other thread drives. */
void rl_turn(redlock *client, int timeout_ms);
/*
 * Writes what has been started. The mutex is held; with an I/O thread by any thread, else no
 * thread drives.
 */
void rl_flush(redlock *client);

/* What is due by now: deadlines, reconnects, renewals. The mutex is held. */
void rl_tick(redlock *client, int64_t now_ns);

/*
 * Makes the driver look at what has been started, or the descriptor readable where there is
 * none.
 */
void rl_wake(redlock *client);

/* Is it a finite wait? Waits without an end, and requests that are tried once, have none. */
static inline bool rl_wait_ends(int64_t wait_deadline_ns)
{
    return wait_deadline_ns > 0 && wait_deadline_ns != RL_NEVER_NS;
}

/*
 * Is this thread inside redlock_options.notify? Then it may start, end or wait for nothing:
 * INVAL.
 */
bool rl_is_notifying(void);
int rl_notify_check(void);

#endif
