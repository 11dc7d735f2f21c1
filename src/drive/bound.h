/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that end with the thread that acquired them (REDLOCK_BOUND).
 *
 * Each thread that binds locks has a struct with an eventfd. When the thread ends, a destructor
 * marks it and signals the eventfd, which every client with locks of that thread watches; the
 * driver of the client then releases what was left behind. The ending thread takes no client's
 * mutex, so it does not matter what else it was doing.
 */
#ifndef RL_DRIVE_BOUND_H
#define RL_DRIVE_BOUND_H

#include <stdint.h>
#include <sys/queue.h>

#include "redlock.h"

struct rl_thread;

/* The threads that a client watches, each with the locks that are bound to it. */
LIST_HEAD(rl_bound_threads, rl_bound_thread);

/* The calling thread's own; NULL: no memory or descriptor is left. */
struct rl_thread *rl_thread_own(void);

/* The mutex is held. -1: no memory, or the thread cannot be watched. */
int rl_bind(redlock *client, redlock_lock *lock, struct rl_thread *thread);
/* For a lock that is bound. */
void rl_unbind(redlock *client, redlock_lock *lock);

/* A thread has ended: gives up what is bound to it. */
void rl_release_bound(redlock *client, int64_t now_ns);

#endif
