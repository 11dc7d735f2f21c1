/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watchdog's ends: release, cancel, caps, the end of the thread, the end of the client.
 * After each of them the servers' own statistics must show no renewal for half a TTL, which is
 * longer than the time from one renewal to the next.
 */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, TTL_MS = 4500 };

/* Of every case, started by the main thread: servers die with the thread that starts them. */
static struct cluster c;
static redlock *r;
static int64_t granted_ns; /* at the latest */

static void begin(void)
{
    r = client_start(&c, NODES, REDLOCK_THREAD);
}

CASES_BEGIN_WITH(begin);

/* Everything a renewal or a repair is made of; "set" and "eval" inside scripts included. */
static long renewals(void)
{
    static const char *const names[] = {"pexpire ", "set ", "eval ", "evalsha "};
    long count = 0;
    for (size_t i = 0; i < c.count; i++) {
        const char *list = server_commands(&c.node[i]);
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            const char *found = strstr(list, names[n]);
            if (found != NULL && (found == list || found[-1] == '\n'))
                count += strtol(found + strlen(names[n]), NULL, 10);
        }
    }
    return count;
}

static void forget(void)
{
    for (size_t i = 0; i < c.count; i++)
        server_forget_commands(&c.node[i]);
}

/* Held, and renewed already: this can fail. */
static redlock_lock *hold(redlock_request q)
{
    redlock_lock *lock;

    q.flags |= REDLOCK_RENEW;
    lock = client_lock_as(r, "x", TTL_MS, q);
    granted_ns = now_ns();
    forget();
    AWAIT(renewals() >= 2 * NODES);
    return lock;
}

#define HOLD(...) hold((redlock_request)REDLOCK_REQUEST(__VA_ARGS__))

/* Call it when the end has come. */
static void check_silence(void)
{
    CHECK(cluster_await(&c, "redlock:x", 0));
    sleep_ms(300); /* what was under way has arrived, and the end has come */
    forget();
    sleep_ms(TTL_MS / 2);
    CHECK_INT(0, renewals());
    CHECK_INT(0, cluster_count(&c, "redlock:x"));
}

CASE(ends_with_release, "The watchdog renews no lock after its release.")
{
    redlock_lock *lock = HOLD();
    CHECK_OK(redlock_release(lock));
    check_silence();
    NO_EVENT(r);
}

CASE(ends_with_free, "The watchdog renews no lock after its handle was freed.")
{
    redlock_lock *lock = HOLD();
    redlock_lock_free(lock);
    check_silence();
}

CASE(ends_with_close, "The watchdog renews no lock after its client was closed.")
{
    redlock_lock *lock = HOLD();
    client_close(r);
    check_silence();
    redlock_lock_free(lock);
}

CASE(ends_with_cancel, "A canceled acquire is never granted, renewed or repaired afterwards.")
{
    redlock_lock *lock = NULL;
    cluster_set(&c, 0, NODES, "redlock:x", "another", 20000);
    lock = CLIENT_START(r, "x", TTL_MS, .flags = REDLOCK_RENEW, .wait_ms = 20000);
    sleep_ms(50);
    CHECK_OK(redlock_cancel(lock));
    cluster_del(&c, 0, NODES, "redlock:x");
    check_silence();
    NO_EVENT(r);
    CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
}

CASE(ends_with_cap_of_extensions, "The watchdog renews max_extensions times and not once more.")
{
    redlock_lock *lock = HOLD(.max_extensions = 3);
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    check_silence();
    NO_EVENT(r);
}

CASE(ends_with_cap_of_time, "The watchdog renews no lock past its max_hold_ms.")
{
    redlock_lock *lock = HOLD(.max_hold_ms = 2 * TTL_MS);
    while (redlock_state(lock) != REDLOCK_STATE_LOST) {
        CHECK(redlock_deadline_ns(lock) <= granted_ns + 2 * TTL_MS * RL_NS_PER_MS);
        sleep_ms(10);
    }
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    check_silence();
}

CASE(ends_with_loss, "The watchdog renews no lock after its loss.")
{
    redlock_lock *lock = HOLD();
    cluster_del(&c, 0, NODES, "redlock:x");
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    sleep_ms(TTL_MS); /* at the end that was promised, what may remain is taken back */
    check_silence();
}

static void run_thread(void *(*body)(void *), void *data)
{
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, body, data));
    CHECK_INT(0, pthread_join(thread, NULL));
}

struct release_scene {
    uint32_t flags;
    redlock_lock *lock;
};

static void *acquire_only(void *data)
{
    struct release_scene *s = data;
    s->lock = CLIENT_LOCK(r, "x", LONG_TTL_MS, .flags = s->flags | REDLOCK_RENEW);
    return NULL;
}

CASE(ends_with_the_thread, "A bound lock is released, and not renewed, when its thread ends.")
{
    struct release_scene s = {.flags = REDLOCK_BOUND};
    run_thread(acquire_only, &s);
    /* Released, not merely left to expire: its TTL is a minute. */
    CHECK(cluster_await(&c, "redlock:x", 0));
    check_silence();
    CHECK(redlock_state(s.lock) != REDLOCK_STATE_HELD);
    CHECK_INT(0, redlock_remaining_ms(s.lock));
}

CASE(unbound_outlives_the_thread, "A lock that is not bound stays held when its thread ends.")
{
    struct release_scene s = {.flags = 0};
    run_thread(acquire_only, &s);
    sleep_ms(300);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(s.lock));
    CHECK(cluster_count(&c, "redlock:x") >= 2);
    client_unlock(s.lock);
}

static void *acquire_and_release(void *data)
{
    (void)data;
    for (int i = 0; i < 20; i++)
        client_unlock(CLIENT_LOCK(r, "y", LONG_TTL_MS, .flags = REDLOCK_BOUND | REDLOCK_RENEW));
    return NULL;
}

CASE(bound_and_released, "Bound locks that were released leave nothing behind in the client.")
{
    for (int i = 0; i < 5; i++)
        run_thread(acquire_and_release, NULL);
    CHECK(cluster_await(&c, "redlock:y", 0));
}

enum { THREADS = 8 };

static void *acquire_many(void *data)
{
    char name[32];

    (void)data;
    snprintf(name, sizeof name, "many%lx", (unsigned long)pthread_self());
    return CLIENT_LOCK(r, name, LONG_TTL_MS, .flags = REDLOCK_BOUND | REDLOCK_RENEW);
}

CASE(many_threads_end, "The locks of many threads that end at once are all released.")
{
    pthread_t threads[THREADS];
    void *locks[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, acquire_many, NULL));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_join(threads[i], &locks[i]));
    CHECK(cluster_await_empty(&c));
    for (int i = 0; i < THREADS; i++)
        redlock_lock_free(locks[i]);
}
