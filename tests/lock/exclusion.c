/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutual exclusion under contention. Inside the lock every worker does a plain
 * read-modify-write with a pause between read and write, under a detector of overlap: two
 * holders at once fail the case at once, and a lost update shows in the count. With nodes that
 * fail meanwhile: threads/chaos.c, kinds/several.c.
 */
#include "fixture.h"
#include "helper.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    WORKERS = 8,
    ROUNDS = CHECK_SANITIZED ? 20 : 75,
    TTL_MS = 20000, /* longer than any case: nothing may expire under a slow worker */
    WAIT_MS = 60000,
};

static redlock_lock *acquire(redlock *r)
{
    redlock_lock *lock = CLIENT_LOCK(r, "counter", TTL_MS, .wait_ms = WAIT_MS);
    CHECK(redlock_remaining_ms(lock) > 0);
    return lock;
}

/*
 * What threads and processes have in common. Atomic only so that a sanitizer does not see what
 * the test is about: no single step of the read-modify-write is protected from the others by
 * anything but the lock.
 */
static struct shared {
    _Atomic int counter;
    _Atomic int inside;
} * shared;

static void begin(void)
{
    shared = helper_memory(sizeof *shared);
}

CASES_BEGIN_WITH(begin);

struct worker {
    pthread_t thread;
    redlock *client; /* NULL: opens its own */
    const struct cluster *cluster;
};

static void work(void *data)
{
    const struct worker *w = data;
    redlock *r = w->client;
    if (r == NULL)
        r = client_open(w->cluster, 0);
    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *lock = acquire(r);
        int value;
        CHECK_NEVER(atomic_exchange(&shared->inside, 1));
        value = atomic_load(&shared->counter);
        sched_yield();
        atomic_store(&shared->counter, value + 1);
        CHECK_INT(1, atomic_exchange(&shared->inside, 0));
        CHECK(redlock_remaining_ms(lock) > 0);
        client_unlock(lock);
    }
    if (w->client == NULL)
        client_close(r);
}

static void *work_in_thread(void *worker)
{
    work(worker);
    return NULL;
}

static void contend(struct cluster *c, redlock *client)
{
    struct worker w[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){.client = client, .cluster = c};
        CHECK_INT(0, pthread_create(&w[i].thread, NULL, work_in_thread, &w[i]));
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(w[i].thread, NULL);
    CHECK_INT(WORKERS * ROUNDS, shared->counter);
}

CASE_ON(threads_share_a_client,
        "Threads that share a client, with an I/O thread and without, lose no update.",
        .nodes = 5, .also = {REDLOCK_THREAD})
{
    contend(c, r);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(threads_with_own_clients,
           "Threads with a client each exclude each other and lose no update.", .nodes = 5)
{
    contend(c, NULL);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(processes_exclude_each_other,
           "Processes that update one counter under the lock lose no update.", .nodes = 5)
{
    struct worker w = {.cluster = c};
    pid_t pids[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pids[i] = helper_start(work, &w);
    helpers_join(pids, WORKERS);
    CHECK_NEVER(WORKERS * ROUNDS - shared->counter);
    CHECK(cluster_await_empty(c));
}

static void *count_bare(void *data)
{
    (void)data;
    for (int i = 0; i < 2000; i++) {
        int value = atomic_load(&shared->counter);
        sched_yield();
        atomic_store(&shared->counter, value + 1);
    }
    return NULL;
}

CASE(the_detector_detects,
     "Without the lock the same work loses updates: the detector can fail.")
{
    pthread_t threads[WORKERS];
    for (int attempt = 0; attempt < 20; attempt++) {
        shared->counter = 0;
        for (int i = 0; i < WORKERS; i++)
            CHECK_INT(0, pthread_create(&threads[i], NULL, count_bare, NULL));
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
        if (shared->counter < WORKERS * 2000)
            return;
    }
    FAIL("no update lost in 20 runs without a lock");
}
