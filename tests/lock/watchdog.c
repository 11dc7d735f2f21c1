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
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, TTL_MS = 4500 };

struct ending {
    struct cluster c;
    redlock *r;
    redlock_lock *lock;
    int64_t granted_ns; /* at the latest */
};

/* Everything a renewal or a repair is made of; "set" and "eval" inside scripts included. */
static long renewals(const struct cluster *c)
{
    static const char *const names[] = {"pexpire ", "set ", "eval ", "evalsha "};
    long count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *list = server_commands(&c->node[i]);
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            const char *found = strstr(list, names[n]);
            if (found != NULL && (found == list || found[-1] == '\n'))
                count += strtol(found + strlen(names[n]), NULL, 10);
        }
    }
    return count;
}

static void forget(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        server_forget_commands(&c->node[i]);
}

static bool was_renewed(void *data)
{
    return renewals(data) >= 2 * NODES;
}

static void start(struct ending *e, redlock_request *q)
{
    memset(e, 0, sizeof *e);
    e->r = client_start(&e->c, NODES, REDLOCK_THREAD);
    q->flags |= REDLOCK_RENEW;
}

static void hold(struct ending *e, redlock_request *q)
{
    start(e, q);
    CHECK_OK(redlock_acquire(e->r, "x", TTL_MS, q, &e->lock));
    e->granted_ns = now_ns();
    forget(&e->c);
    CHECK(wait_until(was_renewed, &e->c)); /* it does renew: this can fail */
}

/* Call it when the end has come. */
static void check_silence(struct ending *e)
{
    CHECK(cluster_await(&e->c, "redlock:x", 0));
    sleep_ms(300); /* what was under way has arrived, and the end has come */
    forget(&e->c);
    sleep_ms(TTL_MS / 2);
    CHECK_INT(0, renewals(&e->c));
    CHECK_INT(0, cluster_count(&e->c, "redlock:x"));
}

CASE(ends_with_release, "The watchdog renews no lock after its release.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST();
    hold(&e, &q);
    CHECK_OK(redlock_release(e.lock));
    check_silence(&e);
    NO_EVENT(e.r);
}

CASE(ends_with_free, "The watchdog renews no lock after its handle was freed.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST();
    hold(&e, &q);
    redlock_lock_free(e.lock);
    check_silence(&e);
}

CASE(ends_with_close, "The watchdog renews no lock after its client was closed.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST();
    hold(&e, &q);
    client_close(e.r);
    check_silence(&e);
    redlock_lock_free(e.lock);
}

CASE(ends_with_cancel, "A canceled acquire is never granted, renewed or repaired afterwards.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 20000);
    start(&e, &q);
    cluster_set(&e.c, 0, NODES, "redlock:x", "another", 20000);
    CHECK_OK(redlock_start_acquire(e.r, "x", TTL_MS, &q, &e.lock));
    sleep_ms(50);
    CHECK_OK(redlock_cancel(e.lock));
    cluster_del(&e.c, 0, NODES, "redlock:x");
    check_silence(&e);
    NO_EVENT(e.r);
    CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(e.lock));
}

CASE(ends_with_cap_of_extensions, "The watchdog renews max_extensions times and not once more.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST(.max_extensions = 3);
    hold(&e, &q);
    EXPECT(e.r, LOST, REDLOCK_LOST, e.lock);
    check_silence(&e);
    NO_EVENT(e.r);
}

CASE(ends_with_cap_of_time, "The watchdog renews no lock past its max_hold_ms.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST(.max_hold_ms = 2 * TTL_MS);
    hold(&e, &q);
    while (redlock_state(e.lock) != REDLOCK_STATE_LOST) {
        CHECK(redlock_deadline_ns(e.lock) <= e.granted_ns + 2 * TTL_MS * 1000000LL);
        sleep_ms(10);
    }
    EXPECT(e.r, LOST, REDLOCK_LOST, e.lock);
    check_silence(&e);
}

CASE(ends_with_loss, "The watchdog renews no lock after its loss.")
{
    struct ending e;
    redlock_request q = REDLOCK_REQUEST();
    hold(&e, &q);
    cluster_del(&e.c, 0, NODES, "redlock:x");
    EXPECT(e.r, LOST, REDLOCK_LOST, e.lock);
    sleep_ms(TTL_MS); /* at the end that was promised, what may remain is taken back */
    check_silence(&e);
}

/* ---- bound to a thread ------------------------------------------------------------------- */

static void run_thread(void *(*body)(void *), void *data)
{
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, body, data));
    CHECK_INT(0, pthread_join(thread, NULL));
}

struct release_scene {
    struct ending *e;
    uint32_t flags;
};

static void *acquire_only(void *data)
{
    struct release_scene *s = data;
    redlock_request q = REDLOCK_REQUEST(.flags = s->flags | REDLOCK_RENEW);
    CHECK_OK(redlock_acquire(s->e->r, "x", LONG_TTL_MS, &q, &s->e->lock));
    return NULL;
}

static void begin(struct ending *e)
{
    memset(e, 0, sizeof *e);
    e->r = client_start(&e->c, NODES, REDLOCK_THREAD);
}

CASE(ends_with_the_thread, "A bound lock is released, and not renewed, when its thread ends.")
{
    /* The servers die with the thread that starts them: the main thread starts them. */
    struct ending e;
    struct release_scene s;
    begin(&e);
    s = (struct release_scene){&e, REDLOCK_BOUND};
    run_thread(acquire_only, &s);
    /* Released, not merely left to expire: its TTL is a minute. */
    CHECK(cluster_await(&e.c, "redlock:x", 0));
    check_silence(&e);
    CHECK(redlock_state(e.lock) != REDLOCK_STATE_HELD);
    CHECK_INT(0, redlock_remaining_ms(e.lock));
}

CASE(unbound_outlives_the_thread, "A lock that is not bound stays held when its thread ends.")
{
    struct ending e;
    struct release_scene s;
    begin(&e);
    s = (struct release_scene){&e, 0};
    run_thread(acquire_only, &s);
    sleep_ms(300);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(e.lock));
    CHECK(cluster_count(&e.c, "redlock:x") >= 2);
    client_unlock(e.lock);
}

static void *acquire_and_release(void *data)
{
    struct release_scene *s = data;
    for (int i = 0; i < 20; i++) {
        redlock_lock *lock =
            CLIENT_LOCK(s->e->r, "y", LONG_TTL_MS, .flags = REDLOCK_BOUND | REDLOCK_RENEW);
        client_unlock(lock);
    }
    return NULL;
}

CASE(bound_and_released, "Bound locks that were released leave nothing behind in the client.")
{
    struct ending e;
    struct release_scene s;
    begin(&e);
    s = (struct release_scene){&e, 0};
    for (int i = 0; i < 5; i++)
        run_thread(acquire_and_release, &s);
    CHECK(cluster_await(&e.c, "redlock:y", 0));
}

enum { THREADS = 8 };

static void *acquire_many(void *data)
{
    struct release_scene *s = data;
    char name[32];
    redlock_lock *lock = NULL;
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_BOUND | REDLOCK_RENEW);
    snprintf(name, sizeof name, "many%lx", (unsigned long)pthread_self());
    CHECK_OK(redlock_acquire(s->e->r, name, LONG_TTL_MS, &q, &lock));
    return lock;
}

CASE(many_threads_end, "The locks of many threads that end at once are all released.")
{
    struct ending e;
    struct release_scene s;
    pthread_t threads[THREADS];
    void *locks[THREADS];
    begin(&e);
    s = (struct release_scene){&e, 0};
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, acquire_many, &s));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_join(threads[i], &locks[i]));
    CHECK(cluster_await_empty(&e.c));
    for (int i = 0; i < THREADS; i++)
        redlock_lock_free(locks[i]);
}
