/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums with threads, across fork() and to the end. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = CHECK_SANITIZED ? 40 : 120, SHARED_NAMES = 4 };

struct crew {
    redlock *client;
    _Atomic int inside[SHARED_NAMES];
    _Atomic int collisions;
};

/* Names of all quorums, wanted by all threads: never two inside one. */
static void *work(void *data)
{
    struct crew *crew = data;
    for (int i = 0; i < ROUNDS; i++) {
        int which = i % SHARED_NAMES;
        char name[32];
        redlock_request q = {.size = sizeof q, .wait_ms = 20000};
        redlock_lock *lock = NULL;
        snprintf(name, sizeof name, "shared-%d", which);
        CHECK_OK(redlock_acquire(crew->client, name, 20000, &q, &lock));
        if (++crew->inside[which] != 1)
            crew->collisions++;
        crew->inside[which]--;
        client_unlock(lock);
    }
    return NULL;
}

static void exclude(uint32_t flags)
{
    struct fleet f;
    pthread_t thread[THREADS];
    static struct crew crew;
    fleet_start(&f, 2, 3);
    crew.client = fleet_open_warm(&f, flags);
    int used[2] = {0};
    for (int i = 0; i < SHARED_NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "shared-%d", i);
        used[redlock_quorum_of(crew.client, name)]++;
    }
    CHECK(used[0] > 0 && used[1] > 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, work, &crew));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_NEVER(crew.collisions);
    redlock_close(crew.client);
}

CASE(threads_exclude_each_other,
     "Threads of a client with an I/O thread per quorum exclude each other.")
{
    exclude(REDLOCK_THREAD);
}

CASE(threads_without_io_thread, "Threads that drive the quorums themselves exclude each other.")
{
    exclude(0);
}

struct relay {
    redlock *client;
    const char *next; /* lives in the other quorum */
    redlock_lock *second;
    _Atomic int done, refused;
};

static void count_done(redlock_lock *lock, int error, void *data)
{
    struct relay *relay = data;
    CHECK(lock != NULL);
    CHECK_OK(error);
    relay->done++;
}

/* On the thread of one quorum: starts in the other, and may not wait for it. */
static void pass_on(redlock_lock *lock, int error, void *data)
{
    struct relay *relay = data;
    redlock_request q = {.size = sizeof q, .done = count_done, .data = relay};
    redlock_report report = {.size = sizeof report};
    CHECK(lock != NULL);
    CHECK_OK(error);
    relay->refused += redlock_ping(relay->client, &report) == REDLOCK_INVAL;
    CHECK_OK(redlock_start(relay->client, relay->next, 20000, &q, &relay->second));
}

static bool is_done(void *data)
{
    struct relay *relay = data;
    return relay->done > 0;
}

CASE(callbacks_cross_quorums,
     "A callback in one quorum's I/O thread may start a lock of another quorum.")
{
    struct fleet f;
    static struct relay relay;
    fleet_start(&f, 2, 3);
    relay.client = fleet_open_warm(&f, REDLOCK_THREAD);
    relay.next = fleet_name(&f, 1, 0);
    redlock_request q = {.size = sizeof q, .done = pass_on, .data = &relay};
    redlock_lock *first = NULL;
    CHECK_OK(redlock_start(relay.client, fleet_name(&f, 0, 0), 20000, &q, &first));
    CHECK(wait_until(is_done, &relay, 10000));
    CHECK_INT(1, relay.refused);
    CHECK_ERR(REDLOCK_INVAL, redlock_fd(relay.client));
    CHECK_ERR(REDLOCK_INVAL, redlock_process(relay.client, 0));
    client_unlock(first);
    client_unlock(relay.second);
    redlock_close(relay.client);
}

static void on_closed(redlock_lock *lock, int error, void *data)
{
    _Atomic int *canceled = data;
    CHECK(lock != NULL);
    CHECK_INT(REDLOCK_CANCELED, error);
    ++*canceled;
}

static void close_with_handles(uint32_t flags)
{
    struct fleet f;
    redlock_lock *held[2], *waiting[2];
    _Atomic int canceled = 0;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, flags);
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(&f, i, 0);
        redlock_request q = {
            .size = sizeof q, .wait_ms = 60000, .done = on_closed, .data = &canceled};
        held[i] = client_lock(r, name, 20000);
        CHECK_OK(redlock_start(r, name, 20000, &q, &waiting[i]));
    }
    redlock_close(r);
    CHECK_INT(2, canceled);
    for (size_t i = 0; i < 2; i++) {
        CHECK(cluster_await_empty(&f.cluster[i], 5000));
        CHECK_INT(0, redlock_remaining_ms(held[i]));
        CHECK_ERR(REDLOCK_INVAL, redlock_release(held[i]));
        redlock_lock_free(held[i]);
        redlock_lock_free(waiting[i]);
    }
}

/* ---- each frees the other's ---------------------------------------------------------------- */

struct pair {
    redlock_lock *_Atomic lock[2];
    pthread_barrier_t meeting;
    _Atomic int returned;
};

static struct pair pair;

/* In both callbacks at once: neither may wait for the other to return. */
static void free_the_other(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    pthread_barrier_wait(&pair.meeting);
    redlock_lock_free(pair.lock[1 - (int)(intptr_t)data]);
    pair.returned++;
}

CASE(callbacks_free_each_other,
     "Callbacks of two quorums may free each other's handles at once.")
{
    struct fleet f;
    fleet_start(&f, 2, 1);
    redlock *client = fleet_open_warm(&f, REDLOCK_THREAD);
    pthread_barrier_init(&pair.meeting, NULL, 3);
    for (int q = 0; q < 2; q++) {
        redlock_request r = {
            .size = sizeof r, .done = free_the_other, .data = (void *)(intptr_t)q};
        redlock_lock *lock;
        char name[32];
        for (int i = 0;; i++) {
            snprintf(name, sizeof name, "pair-%d", i);
            if (redlock_quorum_of(client, name) == q)
                break;
        }
        CHECK_OK(redlock_start(client, name, 10000, &r, &lock));
        pair.lock[q] = lock;
    }
    pthread_barrier_wait(&pair.meeting);
    int64_t end_ms = now_ms() + 5000;
    while (pair.returned < 2 && now_ms() < end_ms)
        sleep_ms(1);
    CHECK_INT(2, pair.returned);
    redlock_close(client);
}

CASE(close_gives_all_up,
     "Closing releases the locks of every quorum; handles can be freed later.")
{
    close_with_handles(0);
}

CASE(close_gives_all_up_threaded,
     "Closing a client with I/O threads releases the locks of every quorum.")
{
    close_with_handles(REDLOCK_THREAD);
}

static void fork_with(uint32_t flags)
{
    struct fleet f;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, flags);
    redlock_lock *lock[2] = {client_lock(r, fleet_name(&f, 0, 0), 20000),
                             client_lock(r, fleet_name(&f, 1, 0), 20000)};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        redlock_report report = {.size = sizeof report};
        redlock_node_info node = {.size = sizeof node};
        redlock_lock *out = NULL;
        bool fine = redlock_acquire(r, "y", 1000, NULL, &out) == REDLOCK_FORKED &&
                    redlock_adopt(r, "y", "value", &out) == REDLOCK_FORKED &&
                    redlock_process(r, 0) == REDLOCK_FORKED &&
                    redlock_fd(r) == REDLOCK_FORKED &&
                    redlock_ping(r, &report) == REDLOCK_FORKED &&
                    redlock_node(r, 0, &node) == REDLOCK_FORKED &&
                    redlock_quorum_of(r, "y") == REDLOCK_FORKED &&
                    redlock_extend(lock[1], 1000) == REDLOCK_FORKED;
        redlock_lock_free(lock[0]);
        redlock_close(r);
        redlock_lock_free(lock[1]);
        redlock *own = NULL;
        redlock_options o = fleet_options(&f);
        fine = fine && redlock_open(&o, &own) == REDLOCK_OK &&
               redlock_acquire(own, fleet_name(&f, 0, 0), 1000, NULL, &out) == REDLOCK_BUSY &&
               redlock_acquire(own, fleet_name(&f, 1, 1), 1000, NULL, &out) == REDLOCK_OK;
        redlock_lock_free(out);
        redlock_close(own);
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK_INT(0, status);
    for (size_t i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "redlock:%s", redlock_name(lock[i]));
        fleet_check_only(&f, i, key, 3);
        CHECK_OK(redlock_extend(lock[i], 20000));
        client_unlock(lock[i]);
    }
    redlock_close(r);
}

CASE(forked_child, "A forked child gets FORKED in every quorum, and the parent's locks stay.")
{
    fork_with(0);
}

CASE(forked_child_of_threads,
     "A forked child of a client with I/O threads gets FORKED in every quorum.")
{
    fork_with(REDLOCK_THREAD);
}
