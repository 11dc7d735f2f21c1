/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values come fresh from getrandom(2): a machine that is cloned while a client runs does not
 * repeat what its twin draws. The linker sends the library's getrandom() here (--wrap).
 */
#include "fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { TTL_MS = 10000, VALUE_DIGITS = 40 };

static _Atomic int byte_given = -1; /* every byte is this one; -1: real randomness */
static _Atomic int error_given;     /* or this failure */
static _Atomic int calls;

ssize_t __real_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    calls++;
    if (error_given) {
        errno = error_given;
        return -1;
    }
    if (byte_given < 0)
        return __real_getrandom(bytes, size, flags);
    memset(bytes, byte_given, size);
    return (ssize_t)size;
}

/* The value of a lock that is taken while getrandom() gives this byte only. */
static void check_value(redlock *r, const char *name, int byte)
{
    char expected[VALUE_DIGITS + 1];
    redlock_lock *lock;

    for (int i = 0; i < VALUE_DIGITS; i += 2)
        snprintf(expected + i, 3, "%02x", (unsigned)byte);
    byte_given = byte;
    lock = client_lock(r, name, TTL_MS);
    byte_given = -1;
    CHECK_STR(expected, redlock_value(lock));
    client_unlock(lock);
}

CASE_ON(nothing_read_ahead,
        "A value has only bytes that getrandom() gave after the call began.",
        .also = {REDLOCK_THREAD})
{
    for (int i = 0; i < 3; i++)
        client_unlock(client_lock(r, "before", TTL_MS));
    check_value(r, "x", 0xa5);
    check_value(r, "x", 0x5a);
}

CASE_ON(a_call_for_each_value,
        "A cycle of acquire and release needs one getrandom() and no more.")
{
    client_unlock(client_lock(r, "x", TTL_MS));
    calls = 0;
    for (int i = 0; i < 50; i++)
        client_unlock(client_lock(r, "x", TTL_MS));
    CHECK_INT(50, calls);
}

/* Starts `IN_FLIGHT` acquisitions, sees all of them end, and frees them. */
static void run_batch(redlock *r)
{
    enum { IN_FLIGHT = 64 };
    redlock_lock *lock[IN_FLIGHT];
    char name[16];
    struct tally tally = {0};
    for (int i = 0; i < IN_FLIGHT; i++) {
        snprintf(name, sizeof name, "x%d", i);
        lock[i] = CLIENT_START(r, name, TTL_MS, .data = &tally);
    }
    DRAIN_UNTIL(r, &tally, ACQUIRED, IN_FLIGHT);
    CHECK_OK(tally.error);
    for (int i = 0; i < IN_FLIGHT; i++)
        redlock_lock_free(lock[i]);
    NO_EVENT(r);
}

CASE_ON(a_call_for_a_batch,
        "Values of one batch are read together, and the next batch reads anew.")
{
    run_batch(r); /* how large a batch is */
    calls = 0;
    for (int i = 0; i < 5; i++)
        run_batch(r);
    CHECK_INT(5, calls);
    check_value(r, "y", 0xa5);
}

CASE_NODES(open_without_randomness, "Opening a client without randomness fails with SYSTEM.")
{
    redlock_options o;
    int error;
    r = NULL;
    o = client_options(c);
    error_given = ENOSYS;
    error = redlock_open(&o, &r);
    error_given = 0;
    CHECK_ERR(REDLOCK_SYSTEM, error);
    CHECK(r == NULL);
    CHECK(strstr(redlock_detail(), "randomness") != NULL);
}

CASE_ON(acquire_without_randomness,
        "An acquire without randomness is SYSTEM, and the next one with it is OK.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock = NULL;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 1000);
    error_given = EIO;
    CHECK_ERR(REDLOCK_SYSTEM, redlock_acquire(r, "x", TTL_MS, NULL, &lock));
    CHECK(strstr(redlock_detail(), "getrandom") != NULL);
    CHECK_ERR(REDLOCK_SYSTEM, redlock_acquire(r, "x", TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    error_given = 0;
    CHECK_OK(client_try(r, "x", TTL_MS));
}

CASE_ON(start_without_randomness,
        "An asynchronous acquire without randomness ends with SYSTEM.")
{
    redlock_lock *lock = NULL;
    error_given = EIO;
    CHECK_OK(redlock_start_acquire(r, "x", TTL_MS, NULL, &lock));
    EXPECT(r, ACQUIRED, REDLOCK_SYSTEM, lock);
    error_given = 0;
}

CASE_ON(question_without_randomness, "A query that gets no randomness is SYSTEM.")
{
    int error;
    error_given = EIO;
    error = redlock_ping(r, NULL);
    error_given = 0;
    CHECK_ERR(REDLOCK_SYSTEM, error);
    CHECK_OK(redlock_ping(r, NULL));
}
