/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The I/O thread is woken for every call, from whichever thread and in whichever way: a wake-up
 * that got lost would be made good by the next clock sample, up to a second later, and nothing
 * else would show it.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "pulse.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 3000, LATE_MS = 400, TTL_MS = 30000 };

struct worker {
    redlock *client;
    pthread_t thread;
    int number;
    bool async;
    int pause_ms; /* between its cycles */
    int rounds;
    int64_t slowest_ms;
    int failed_count;
};

/* The one thread that reads events: each worker waits for its own. */
struct reader {
    redlock *client;
    _Atomic bool over;
};

static void *read_events(void *data)
{
    struct reader *reader = data;
    while (!reader->over) {
        const redlock_event *event = next_event(reader->client, 20);
        if (event && event->data)
            sem_post(event->data);
    }
    return NULL;
}

static void await(sem_t *done)
{
    while (sem_wait(done) != 0)
        ;
}

/* Started from outside the I/O thread, so that it has to be woken. */
static int cycle_async(struct worker *w, const char *name)
{
    sem_t done;
    redlock_request q = REDLOCK_REQUEST(.data = &done);
    redlock_lock *lock;
    int error;
    sem_init(&done, 0, 0);
    error = redlock_start_acquire(w->client, name, TTL_MS, &q, &lock);
    if (error != REDLOCK_OK)
        return error;
    await(&done);
    error = redlock_start_release(lock);
    if (error == REDLOCK_OK)
        await(&done);
    redlock_lock_free(lock);
    return error;
}

static int cycle_blocking(struct worker *w, const char *name)
{
    redlock_lock *lock;
    int error = redlock_acquire(w->client, name, TTL_MS, NULL, &lock);
    if (error != REDLOCK_OK)
        return error;
    error = redlock_release(lock);
    redlock_lock_free(lock);
    return error;
}

static void *work(void *data)
{
    struct worker *w = data;
    for (int i = 0; i < w->rounds; i++) {
        char name[32];
        int64_t late_ms, start_ms, took_ms;
        snprintf(name, sizeof name, "w%d-%d", w->number, i);
        late_ms = pulse_late_ms() + pulse_stalled_ms();
        start_ms = now_ms();
        w->failed_count += (w->async ? cycle_async : cycle_blocking)(w, name) != REDLOCK_OK;
        took_ms = now_ms() - start_ms;
        if (took_ms > LATE_MS) {
            sleep_ms(50); /* until the pulse has noted it, if it was the machine */
            took_ms -= pulse_late_ms() + pulse_stalled_ms() - late_ms;
        }
        w->slowest_ms = took_ms > w->slowest_ms ? took_ms : w->slowest_ms;
        if (w->pause_ms > 0)
            sleep_ms(w->pause_ms);
    }
    return NULL;
}

static void run_workers(struct worker *w, int count)
{
    struct cluster c;
    pthread_t thread;
    redlock *client;
    struct reader reader;
    cluster_start(&c, 3);
    client = client_open_warm(&c, REDLOCK_THREAD);
    reader = (struct reader){.client = client};
    CHECK_INT(0, pthread_create(&thread, NULL, read_events, &reader));
    for (int i = 0; i < count; i++) {
        w[i].client = client;
        w[i].number = i;
        CHECK_INT(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
    }
    for (int i = 0; i < count; i++) {
        pthread_join(w[i].thread, NULL);
        CHECK_INT(0, w[i].failed_count);
        if (!CHECK_SANITIZED) /* which runs beside others */
            CHECK_BETWEEN(0, LATE_MS, w[i].slowest_ms);
    }
    reader.over = true;
    pthread_join(thread, NULL);
    client_close(client);
}

static void run(int thread_count, bool async)
{
    struct worker w[THREADS];
    for (int i = 0; i < thread_count; i++)
        w[i] = (struct worker){.async = async || i % 2, .rounds = ROUNDS};
    run_workers(w, thread_count);
}

CASE_OF(one_blocked, "One thread's blocking calls wake the I/O thread every time.",
        run(1, false));

CASE_OF(one_started, "Requests that one thread starts wake the I/O thread every time.",
        run(1, true));

CASE_OF(both_ways_at_once,
        "Blocking calls and started requests of several threads lose no wake-up.",
        run(THREADS, false));

/* One thread calls all the time, and another one now and then. */
static void run_with_visitor(bool async)
{
    struct worker w[2] = {{.rounds = ROUNDS},
                          {.rounds = ROUNDS / 20, .pause_ms = 3, .async = async}};
    run_workers(w, 2);
}

CASE_OF(one_blocked_and_a_visitor,
        "A second caller now and then loses no wake-up of the first.", run_with_visitor(false));

CASE_OF(one_blocked_and_one_started,
        "Requests started beside a blocked caller lose no wake-up.", run_with_visitor(true));

CASE(with_pauses, "One caller whose pauses are as long as the I/O thread's patience.")
{
    struct worker w[1] = {{.rounds = ROUNDS / 10, .pause_ms = 1}};
    run_workers(w, 1);
    w[0] = (struct worker){.rounds = ROUNDS / 20, .pause_ms = 2};
    run_workers(w, 1);
}
