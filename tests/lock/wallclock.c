/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time as the library sees it. This program brings its own wall clock (support/wallclock.h)
 * and steps it under the library's feet.
 */
#include "wallclock.h"

#include "fixture.h"

#include <pthread.h>
#include <time.h>

enum { HOUR_MS = 3600000 };

CASE(the_shim_works, "The stepped wall clock is what this program's code reads.")
{
    struct timespec before, after;
    int64_t boot_ms = now_ms();
    time_t seconds;
    clock_gettime(CLOCK_REALTIME, &before);
    seconds = time(NULL);
    wallclock_step_ms(HOUR_MS);
    clock_gettime(CLOCK_REALTIME, &after);
    CHECK_BETWEEN(3600, 3660, after.tv_sec - before.tv_sec);
    CHECK_BETWEEN(3600, 3660, time(NULL) - seconds);
    CHECK_BETWEEN(0, 60000, now_ms() - boot_ms);
}

/* Wall-clock time in the client: a step makes locks live for ever or die at once. */
CASE_ON(peer_bug_09_wall_clock_steps, "A held lock does not notice steps of the wall clock.")
{
    static const int64_t steps_ms[] = {HOUR_MS, -2LL * HOUR_MS, HOUR_MS, -30LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        redlock_lock *lock = client_lock(r, "x", LONG_TTL_MS);
        int64_t before_ms = redlock_remaining_ms(lock);
        wallclock_step_ms(steps_ms[i]);
        CHECK_BETWEEN(before_ms - SOON_MS, before_ms, redlock_remaining_ms(lock));
        CHECK_OK(redlock_extend(lock, LONG_TTL_MS));
        CHECK_BETWEEN(LONG_TTL_MS - SOON_MS, LONG_TTL_MS, redlock_remaining_ms(lock));
        client_unlock(lock);
    }
}

static void *step_later(void *data)
{
    sleep_ms(100);
    wallclock_step_ms(*(int64_t *)data);
    return NULL;
}

static void wait_through_a_step(struct cluster *c, redlock *r, int64_t step_ms)
{
    pthread_t thread;
    int64_t start_ms;
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
    CHECK_INT(0, pthread_create(&thread, NULL, step_later, &step_ms));
    start_ms = now_ms();
    CHECK_ERR(REDLOCK_TIMEOUT, CLIENT_TRY(r, "x", 10000, .wait_ms = 2000));
    CHECK_BETWEEN(2000, SOON_MS, now_ms() - start_ms);
    pthread_join(thread, NULL);
}

CASE_ON(peer_bug_09_wait_steps_back,
        "A wait keeps its length while the wall clock is set back.", .also = {REDLOCK_THREAD})
{
    wait_through_a_step(c, r, -HOUR_MS);
}

CASE_ON(peer_bug_09_wait_steps_forth,
        "A wait keeps its length while the wall clock is set forward.",
        .also = {REDLOCK_THREAD})
{
    wait_through_a_step(c, r, HOUR_MS);
}

/* A clock in whole seconds cannot distinguish 100 ms from nothing. */
CASE_ON(peer_bug_09_milliseconds_count, "A TTL is counted in milliseconds.")
{
    redlock_lock *lock = client_lock(r, "x", 2500);
    int64_t first_ms = redlock_remaining_ms(lock);
    int64_t boot_ns;
    CHECK_BETWEEN(1, 2500 - 25 - 2, first_ms);
    boot_ns = now_ns();
    CHECK_BETWEEN(0, 2500 - 25 - 2, (redlock_deadline_ns(lock) - boot_ns) / RL_NS_PER_MS);
    sleep_ms(50);
    CHECK(redlock_remaining_ms(lock) <= first_ms - 49);
}

/* Milliseconds in 32 bits, or nanoseconds of a year in too few: negative or endless times. */
CASE_NODES(peer_bug_09_overflow, "A TTL of a day and a wait of a year do not overflow.",
           .max_ttl_ms = "86400000")
{
    redlock_lock *lock;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_MAX_MS);
    int64_t day_ms = REDLOCK_TTL_LIMIT_MS;
    r = CLIENT_OPEN(c, .max_ttl_ms = REDLOCK_TTL_LIMIT_MS);
    client_warm(r);
    lock = client_lock(r, "x", REDLOCK_TTL_LIMIT_MS);
    CHECK_BETWEEN(day_ms - day_ms / 100 - 2 - 10000, day_ms - day_ms / 100 - 2,
                  redlock_remaining_ms(lock));
    CHECK_BETWEEN(day_ms - 10000, day_ms, server_int(&c->node[0], "PTTL", "redlock:x", NULL));
    client_unlock(lock);

    cluster_set(c, 0, 3, "redlock:x", "another", 2000);
    CHECK_OK(redlock_acquire(r, "x", day_ms, &q, &lock));
    client_unlock(lock);

    q.wait_ms = REDLOCK_WAIT_MAX_MS + 1;
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", 1000, &q, &lock));
    q.wait_ms = INT64_MAX;
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", 1000, &q, &lock));
}
