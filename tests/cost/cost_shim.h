/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In the place of what the library calls: counts allocations and clock readings, and makes
 * batching independent of how fast machine and servers are. In lockstep, a thread that waits
 * for events first waits until every node has answered what was sent to it, and, with the I/O
 * thread, until all callers are blocked in their calls: a turn then always finds the same.
 */
#ifndef REDLOCK_TESTS_COST_SHIM_H
#define REDLOCK_TESTS_COST_SHIM_H

#include <stdbool.h>
#include <sys/timerfd.h>

enum { SHIM_PLACES_MAX = 8 };

struct shim_counts {
    _Atomic long allocations; /* malloc, calloc, realloc, strdup */
    _Atomic long frees;       /* of anything but NULL */
    _Atomic long clocks;      /* the vDSO answers without a system call on most machines */
    /* Callers of the first allocations: for addr2line -e test_cost */
    void *place[SHIM_PLACES_MAX];
};

/* Counts from now on, or no longer (NULL). */
void shim_count(struct shim_counts *counts);

void shim_lockstep(void);

/*
 * The library's clock stands still, but for a microsecond a reading: what it does every second,
 * or after a pause of its caller, does not depend on how long the test takes.
 */
void shim_freeze_time(void);
void shim_thaw_time(void);

/* Lets the time that stands still jump to what the timer was set for, and the timer fire. */
void shim_pass_time(void);

/* Marks the one call which that takes: no library requests the old value there. */
extern struct itimerspec shim_own_timer;

/* Adds to the callers that have to be blocked before a turn goes on. */
void shim_expect_callers(int count);

/* Whether something was sent whose answer was not waited for yet. */
bool shim_is_owed(void);

/* Waits until every node has answered what was sent to it, as a turn that waits does. */
void shim_await_replies(void);

/* Waits until so many of the sockets that were ever sent to can be read, or 20 ms. */
void shim_await_readable(int count);

#endif
