/* SPDX-License-Identifier: BSD-2-Clause */
/* Time for tests: the clock the library promises to use, and the few waits a test needs. */
#ifndef REDLOCK_TESTS_CLOCK_H
#define REDLOCK_TESTS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t now_ns(void); /* CLOCK_BOOTTIME */
int64_t now_ms(void);

/* Only where time itself has to pass (an expiry); events are waited for with wait_until(). */
void sleep_ms(int64_t ms);

/* Asks `done` every millisecond or two until it says true or the time is over (pulse.h: the
 * time in which the machine stood still does not count). */
bool wait_until(bool (*done)(void *), void *data, int64_t timeout_ms);

/* Sorts and returns the middle one. */
int64_t median(int64_t *samples, int count);

#endif
