/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as a test expects them, of clients with and without an I/O thread. */
#ifndef REDLOCK_TESTS_EVENTS_H
#define REDLOCK_TESTS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <redlock.h>

/*
 * The next event of the client, but for places and warnings that are not expected, has this
 * type, error and lock, or job. Fails the case if it is another, or if none comes within
 * GIVE_UP_MS.
 */
#define EXPECT(client, type, error, lock)                                                      \
    expect_event(__FILE__, __LINE__, client, REDLOCK_EVENT_##type, error, lock, 0)
#define EXPECT_ANSWER(client, error, job)                                                      \
    expect_event(__FILE__, __LINE__, client, REDLOCK_EVENT_ANSWERED, error, NULL, job)

/* The client has no event that waits, but for places and warnings, and a turn brings none. */
#define NO_EVENT(client) expect_no_event(__FILE__, __LINE__, client)

/* The next event, whatever it is; NULL: none within limit_ms. */
const redlock_event *next_event(redlock *r, int64_t limit_ms);

/* The same for a loop that waits for redlock_fd(), never inside the library. */
const redlock_event *poll_event(redlock *r, int64_t limit_ms);

/* Appends the warnings that wait, "address detail", a line each. How many there were. */
int read_warnings(redlock *r, char *out, size_t size);

/* Of many locks: what happened to each, if redlock_request.data points to its tally. */
struct tally {
    int count[REDLOCK_EVENT_WARNING + 1]; /* by type */
    int error;                            /* of the last event but QUEUED */
    int place;                            /* of the last QUEUED */
};

/* Counts it in its tally; NULL: in none. */
void tally_event(const redlock_event *event);

/* Counts the events that wait, and those of one turn. */
void drain(redlock *r);

/* Counts one event, if there is one within limit_ms. */
void drain_within(redlock *r, int64_t limit_ms);

/*
 * Counts events, by a loop that waits for redlock_fd(), until the tally has `wanted` of the
 * type; fails the case after GIVE_UP_MS.
 */
#define DRAIN_UNTIL(client, tally, type, wanted)                                               \
    drain_until(__FILE__, __LINE__, client, tally, REDLOCK_EVENT_##type, wanted)

const redlock_event *expect_event(const char *file, int line, redlock *r, int type, int error,
                                  const redlock_lock *lock, redlock_job job);
void expect_no_event(const char *file, int line, redlock *r);
void drain_until(const char *file, int line, redlock *r, const struct tally *tally, int type,
                 int wanted);

#endif
