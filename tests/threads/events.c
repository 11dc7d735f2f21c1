/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events and threads: one reads, others start, cancel and free; and notify on the I/O thread.
 */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TTL_MS = LONG_TTL_MS, SHORT_TTL_MS = 2000, THREADS = 4, ROUNDS = 100 };

/* Until there is an event. The other thread may be in redlock_next() at this moment, too. */
static void *read_one(void *client)
{
    const redlock_event *event;
    int found;
    while ((found = redlock_next(client, &event, -1)) == REDLOCK_BUSY)
        ;
    CHECK_INT(1, found);
    CHECK_INT(REDLOCK_EVENT_ACQUIRED, event->type);
    return NULL;
}

CASE_ON(second_reader, "A second thread in redlock_next() gets BUSY, and does not wait.",
        .also = {REDLOCK_THREAD})
{
    const redlock_event *event;
    redlock_lock *lock;
    pthread_t thread;
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    int found = 0;
    CHECK_INT(0, pthread_create(&thread, NULL, read_one, r));
    while ((found = redlock_next(r, &event, 0)) == 0 && now_ms() < end_ms)
        sleep_ms(1);
    CHECK_ERR(REDLOCK_BUSY, found);
    CHECK_HAS("another thread", redlock_detail());
    CHECK_OK(redlock_start_acquire(r, "x", TTL_MS, NULL, &lock));
    pthread_join(thread, NULL);
    redlock_lock_free(lock);
}

static _Atomic bool has_returned;

static void *read_none(void *client)
{
    const redlock_event *event;
    CHECK_INT(0, redlock_next(client, &event, -1));
    has_returned = true;
    return NULL;
}

static void ignore(int number)
{
    (void)number;
}

CASE_ON(signal_ends_the_wait,
        "A signal that the program handles ends a wait for events, with 0.",
        .also = {REDLOCK_THREAD})
{
    struct sigaction action = {.sa_handler = ignore};
    pthread_t thread;
    CHECK_INT(0, sigaction(SIGUSR1, &action, NULL));
    NO_EVENT(r);
    has_returned = false;
    CHECK_INT(0, pthread_create(&thread, NULL, read_none, r));
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; !has_returned && now_ms() < end_ms;) {
        CHECK_INT(0, pthread_kill(thread, SIGUSR1)); /* it may not wait yet */
        sleep_ms(10);
    }
    CHECK(has_returned);
    pthread_join(thread, NULL);
}

static void *read_rest(void *client)
{
    while (next_event(client, 0))
        ;
    return NULL;
}

CASE_ON(drain_handed_on,
        "A thread whose drain another one has ended has its next request written at once.",
        .flags = REDLOCK_THREAD | REDLOCK_NO_GUARD)
{
    pthread_t thread;
    const char *const name[] = {"x", "y", "z"};
    redlock_lock *lock[3];
    for (int i = 0; i < 2; i++)
        CHECK_OK(redlock_start_acquire(r, name[i], TTL_MS, NULL, &lock[i]));
    client_unlock(client_lock(r, "later", TTL_MS)); /* both are granted */
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock[0]);
    CHECK_INT(0, pthread_create(&thread, NULL, read_rest, r));
    pthread_join(thread, NULL);
    sleep_ms(1500); /* what new connections have timers for is over */
    CHECK_OK(redlock_start_acquire(r, name[2], TTL_MS, NULL, &lock[2]));
    CHECK(cluster_await(c, "redlock:z", 3));
}

/* When things happened, in an order that all threads agree about. */
static _Atomic uint64_t moment;

struct flight {
    redlock_lock *lock;
    _Atomic int events;
    _Atomic int released;
    _Atomic uint64_t ended; /* the moment after its cancel or free; 0: it was not ended */
    bool is_ended;
};

struct worker {
    redlock *client;
    pthread_t thread;
    int number;
    struct flight flight[ROUNDS];
};

static _Atomic bool over;

static void *read_all(void *client)
{
    while (!over) {
        uint64_t called = ++moment;
        const redlock_event *event = next_event(client, 10);
        struct flight *f;
        if (!event)
            continue;
        f = event->data;
        /* It may have been taken before the end, but not in a call that began after it. */
        CHECK(f->ended == 0 || f->ended > called);
        CHECK_INT(REDLOCK_EVENT_ACQUIRED, event->type);
        f->events++;
    }
    return NULL;
}

static void *start_and_end(void *data)
{
    struct worker *w = data;
    for (int i = 0; i < ROUNDS; i++) {
        struct flight *f = &w->flight[i];
        char name[32];
        snprintf(name, sizeof name, i % 4 ? "w%d-%d" : "contended", w->number, i);
        f->lock =
            CLIENT_START(w->client, name, TTL_MS, .data = f, .wait_ms = i % 4 ? 0 : GIVE_UP_MS);
        if (i % 3 == 0)
            sleep_ms(i % 5);
        f->is_ended = i % 4 == 0 || i % 2;
        if (!f->is_ended)
            continue;
        if (i % 8 == 0)
            CHECK_OK(redlock_cancel(f->lock));
        else
            redlock_lock_free(f->lock);
        f->ended = ++moment;
        if (i % 8 == 0)
            redlock_lock_free(f->lock);
    }
    return NULL;
}

CASE_ON(ended_by_other_threads,
        "Each acquire has one event, and none after another thread has canceled or freed it.",
        .also = {REDLOCK_THREAD})
{
    static struct worker w[THREADS];
    pthread_t reader;
    int64_t end_ms;
    CHECK_INT(0, pthread_create(&reader, NULL, read_all, r));
    for (int i = 0; i < THREADS; i++) {
        w[i].client = r;
        w[i].number = i;
        CHECK_INT(0, pthread_create(&w[i].thread, NULL, start_and_end, &w[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    end_ms = now_ms() + GIVE_UP_MS;
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < ROUNDS; k++)
            while (!w[i].flight[k].is_ended && !w[i].flight[k].events && now_ms() < end_ms)
                sleep_ms(1);
    over = true;
    pthread_join(reader, NULL);
    NO_EVENT(r);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < ROUNDS; k++) {
            struct flight *f = &w[i].flight[k];
            CHECK_BETWEEN(f->is_ended ? 0 : 1, 1, f->events);
            if (!f->is_ended)
                redlock_lock_free(f->lock);
        }
    NO_EVENT(r);
    CHECK(cluster_await_empty(c));
}

static _Atomic bool is_inside, may_leave, has_left;

static void stay_inside(void *data)
{
    const redlock_event *event;
    redlock_lock *lock;
    redlock_counters counters = REDLOCK_COUNTERS();
    redlock_node_info node = REDLOCK_NODE_INFO();
    if (!data)
        return;
    /* It may only look. */
    CHECK_ERR(REDLOCK_INVAL, redlock_next(data, &event, 0));
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(data, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_ping(data, NULL, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_acquire(data, "y", TTL_MS, NULL, &lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_stats(data, &counters));
    CHECK_ERR(REDLOCK_INVAL, redlock_node(data, 0, &node));
    CHECK_ERR(REDLOCK_INVAL, redlock_fd(data));
    CHECK_ERR(REDLOCK_INVAL, redlock_cancel_job(data, 1));
    CHECK_HAS("notify", redlock_detail());
    is_inside = true;
    while (!may_leave)
        sleep_ms(1);
    has_left = true;
}

static void *let_leave(void *data)
{
    (void)data;
    sleep_ms(100);
    CHECK(!has_left);
    may_leave = true;
    return NULL;
}

CASE_NODES(free_waits_for_notify,
           "notify holds no mutex of the client, and redlock_lock_free() waits for its end.")
{
    pthread_t thread;
    redlock_counters counters = REDLOCK_COUNTERS();
    redlock_lock *lock = NULL;
    redlock_request q;
    r = CLIENT_OPEN(c, .flags = REDLOCK_THREAD, .notify = stay_inside);
    client_warm(r);
    q = (redlock_request)REDLOCK_REQUEST(.data = r);
    client_lock(r, "y", TTL_MS);
    CHECK_OK(redlock_acquire(r, "x", SHORT_TTL_MS, &q, &lock));
    AWAIT(is_inside);
    CHECK_OK(redlock_stats(r, &counters)); /* takes the mutex */
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
    EXPECT(r, LOST, REDLOCK_LOST, lock); /* the event waits when notify runs */
    CHECK_INT(0, pthread_create(&thread, NULL, let_leave, NULL));
    redlock_lock_free(lock);
    CHECK(has_left);
    pthread_join(thread, NULL);
    NO_EVENT(r);
}
