/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Once in a period: of all that try, one starts, and none again before the period is over. Copy
 * this file; examples/once.c uses it. The record and the promise are those of `redlock run
 * --every`, and of once() in Python and Node; bindings/README.md has what it cannot promise.
 *
 * That a run has started is recorded on the nodes as one more lock, NAME.every, which is taken
 * under the lock NAME right before the start, and left to expire when the period has passed.
 * The period may be longer than the max_ttl of the nodes, so the record is acquired with the
 * TTL of the lock and then extended, by a client of its own with REDLOCK_NO_GUARD: it rests on
 * a majority that remembers. It counts from the start, though it is written before: it lasts a
 * second more than the period, and what has not started within that second does not start.
 */
#ifndef EXAMPLE_ONCE_H
#define EXAMPLE_ONCE_H

#include <redlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ONCE_SUFFIX ".every"
#define ONCE_PERIOD_MIN_MS 1000
#define ONCE_START_MS 1000 /* from the record to the start */
#define ONCE_SURE_MS 300   /* for a replica to have the record */
#define ONCE_START_TRIES 5 /* records whose second was over before the start */

/* All but `lock` and `start_by_ns` is set by the caller, and stays. */
struct once {
    redlock *client;          /* with REDLOCK_THREAD: the lock is renewed */
    redlock *records;         /* of once_open_records() */
    const char *name, *label; /* the label of what has run it; NULL: none */
    int64_t ttl_ms;           /* of the lock: after a crash the name is locked for so long */
    int64_t period_ms;        /* 1 s to a day */
    redlock_lock *lock;       /* of the run; NULL: there is none */
    int64_t start_by_ns;      /* CLOCK_BOOTTIME; a run does not begin later */
};

static inline int64_t once_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How long the record lasts: no lock lasts longer than a day, and that of a day has no more. */
static inline int64_t once_record_ms(int64_t period_ms)
{
    return period_ms < REDLOCK_TTL_LIMIT_MS - ONCE_START_MS ? period_ms + ONCE_START_MS
                                                            : REDLOCK_TTL_LIMIT_MS;
}

/* The options are those of the client, or NULL. To be closed by redlock_close(). */
static inline int once_open_records(const redlock_options *options, int64_t period_ms,
                                    redlock **out)
{
    redlock_options own = REDLOCK_OPTIONS();
    if (options)
        own = *options;
    own.flags = (own.flags | REDLOCK_NO_GUARD) & ~(uint32_t)REDLOCK_THREAD;
    own.profile = REDLOCK_PROFILE_EFFICIENCY; /* the other one insists on the guard */
    if (own.max_ttl_ms < once_record_ms(period_ms))
        own.max_ttl_ms = (uint32_t)once_record_ms(period_ms);
    return redlock_open(&own, out);
}

/* REDLOCK_OK: a majority has the record. */
static inline int once_find(const struct once *o, const char *record)
{
    redlock_answer *answer = NULL;
    int error = redlock_query(o->records, record, &answer);
    if (error == REDLOCK_OK && !answer->info->held)
        error = REDLOCK_EXPIRED;
    redlock_answer_free(answer);
    return error;
}

/* A failover of a Sentinel group forgets what no replica has: waits for one, for a moment. */
static inline void once_make_sure(struct once *o)
{
    const int64_t sure_by_ns = once_now_ns() + ONCE_SURE_MS * INT64_C(1000000);
    while (redlock_replicate(o->records, NULL) != REDLOCK_OK && once_now_ns() < sure_by_ns) {
    }
}

/* Under the lock. The record of no run is released first: the next holder would meet it. */
static inline int once_write(struct once *o, const char *record)
{
    const redlock_request request = REDLOCK_REQUEST(.label = o->label);
    const int64_t record_ms = once_record_ms(o->period_ms);
    redlock_lock *written;
    for (int tries = 0; tries < ONCE_START_TRIES; tries++) {
        int error;

        o->start_by_ns = once_now_ns() + ONCE_START_MS * INT64_C(1000000);
        error =
            redlock_acquire(o->records, record, o->ttl_ms < record_ms ? o->ttl_ms : record_ms,
                            &request, &written);
        /* What a start that failed has left on too few nodes is no run. */
        if (error != REDLOCK_OK)
            return error != REDLOCK_BUSY || once_find(o, record) == REDLOCK_OK
                       ? error
                       : REDLOCK_NOQUORUM;
        error = redlock_extend(written, record_ms);
        if (error == REDLOCK_OK)
            once_make_sure(o);
        if (error == REDLOCK_OK && redlock_remaining_ms(o->lock) == 0)
            error = REDLOCK_LOST;
        if (error == REDLOCK_OK && once_now_ns() < o->start_by_ns) {
            redlock_lock_leave(written);
            return REDLOCK_OK;
        }
        redlock_release(written);
        redlock_lock_free(written);
        if (error != REDLOCK_OK)
            return error;
    }
    return REDLOCK_LOST;
}

/* After the work, or instead of it. The record stays. REDLOCK_LOST: the lock had not lasted. */
static inline int once_end(struct once *o)
{
    int error = redlock_release(o->lock);
    redlock_lock_free(o->lock);
    o->lock = NULL;
    return error;
}

/*
 * REDLOCK_OK: begin now, and before start_by_ns; then once_end(). REDLOCK_BUSY: it was run in
 * this period, or is being run. Anything else: it could not be recorded, and must not run.
 */
static inline int once_begin(struct once *o)
{
    const redlock_request request = REDLOCK_REQUEST(.flags = REDLOCK_RENEW, .label = o->label);
    char record[REDLOCK_NAME_MAX + 1];
    int error;

    o->lock = NULL;
    if (strlen(o->name) + strlen(ONCE_SUFFIX) > REDLOCK_NAME_MAX ||
        o->period_ms < ONCE_PERIOD_MIN_MS || o->period_ms > REDLOCK_TTL_LIMIT_MS)
        return REDLOCK_INVAL;
    snprintf(record, sizeof record, "%s" ONCE_SUFFIX, o->name);
    if (once_find(o, record) == REDLOCK_OK)
        return REDLOCK_BUSY;
    error = redlock_acquire(o->client, o->name, o->ttl_ms, &request, &o->lock);
    if (error == REDLOCK_OK && (error = once_write(o, record)) != REDLOCK_OK)
        once_end(o);
    return error;
}

#endif
