/* SPDX-License-Identifier: BSD-2-Clause */
/* Time for tests: the clock the library promises to use, and the few waits a test needs. */
#ifndef REDLOCK_TESTS_CLOCK_H
#define REDLOCK_TESTS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/time.h"

int64_t now_ns(void); /* CLOCK_BOOTTIME */
int64_t now_ms(void);

/* Only where time itself has to pass (an expiry); events are waited for with wait_until(). */
void sleep_ms(int64_t ms);

/* After this a wait is given up, and never earlier: no test can know how busy
 * the machine is. */
enum { GIVE_UP_MS = 30000 };

/*
 * "At once", on a machine of any load. What the test rules out takes longer: a node that hangs
 * has FAR_MS to answer (client.h), a lock that must not be waited for LONG_TTL_MS to live.
 */
enum { SOON_MS = 10000 };

/*
 * Looks every two milliseconds, or after each `step`, until the condition is true; fails the
 * case after GIVE_UP_MS.
 */
#define AWAIT(condition) AWAIT_DOING(condition, sleep_ms(2))
#define AWAIT_DOING(condition, step)                                                           \
    do {                                                                                       \
        int64_t await_until_ms = now_ms() + GIVE_UP_MS;                                        \
        while (!(condition)) {                                                                 \
            step;                                                                              \
            if (now_ms() >= await_until_ms)                                                    \
                FAIL("not in time: %s", #condition);                                           \
        }                                                                                      \
    } while (0)

/* Asks `done` every two milliseconds until it says true; false after GIVE_UP_MS. */
bool wait_until(bool (*done)(void *), void *data);

/* The same for `limit_ms`, where "not yet" is an answer as good as any. */
bool wait_within(bool (*done)(void *), void *data, int64_t limit_ms);

#endif
