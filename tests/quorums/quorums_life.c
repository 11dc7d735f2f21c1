/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums with threads, across fork() and to the end. */
#include "fixture.h"
#include "fleet.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
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
        redlock_lock *lock = NULL;
        snprintf(name, sizeof name, "shared-%d", which);
        lock = CLIENT_LOCK(crew->client, name, 20000, .wait_ms = 20000);
        if (++crew->inside[which] != 1)
            crew->collisions++;
        crew->inside[which]--;
        client_unlock(lock);
    }
    return NULL;
}

CASE_ON(threads_exclude_each_other,
        "Threads exclude each other in every quorum, with I/O threads and without.",
        .quorums = 2, .also = {REDLOCK_THREAD})
{
    pthread_t thread[THREADS];
    static struct crew crew;
    int used[2] = {0};
    crew.client = r;
    for (int i = 0; i < SHARED_NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "shared-%d", i);
        used[redlock_quorum_of(r, name)]++;
    }
    CHECK(used[0] > 0 && used[1] > 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, work, &crew));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_NEVER(crew.collisions);
}

CASE_ON(events_cross_quorums,
        "The reader of an event of one quorum may start a lock of another.", .quorums = 2,
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(redlock_start_acquire(r, fleet_name(fleet, i, 0), 20000, NULL, &lock[i]));
        EXPECT(r, ACQUIRED, REDLOCK_OK, lock[i]);
    }
    client_unlock(lock[0]);
    client_unlock(lock[1]);
}

CASE_ON(close_gives_all_up,
        "Closing releases the locks of every quorum; handles can be freed later.", .quorums = 2,
        .also = {REDLOCK_THREAD})
{
    redlock_lock *held[2], *waiting[2];
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(fleet, i, 0);
        held[i] = client_lock(r, name, 20000);
        waiting[i] = CLIENT_START(r, name, 20000, .wait_ms = 60000);
    }
    client_close(r);
    for (size_t i = 0; i < 2; i++) {
        CHECK(cluster_await_empty(&fleet->cluster[i]));
        CHECK_INT(0, redlock_remaining_ms(held[i]));
        CHECK_ERR(REDLOCK_INVAL, redlock_release(held[i]));
        CHECK_INT(0, redlock_remaining_ms(waiting[i]));
        redlock_lock_free(held[i]);
        redlock_lock_free(waiting[i]);
    }
}

CASE_ON(forked_child,
        "A forked child gets FORKED in every quorum, and the parent's locks stay.",
        .quorums = 2, .also = {REDLOCK_THREAD})
{
    redlock_lock *lock[2];
    pid_t child;
    int status = 0;
    for (size_t i = 0; i < 2; i++)
        lock[i] = client_lock(r, fleet_name(fleet, i, 0), 20000);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        redlock_node_info node = REDLOCK_NODE_INFO();
        const redlock_event *event;
        redlock_lock *out = NULL;
        bool fine = redlock_acquire(r, "y", 1000, NULL, &out) == REDLOCK_FORKED &&
                    redlock_adopt(r, "y", "value", NULL, &out) == REDLOCK_FORKED &&
                    redlock_next(r, &event, 0) == REDLOCK_FORKED &&
                    redlock_fd(r) == REDLOCK_FORKED &&
                    redlock_ping(r, NULL) == REDLOCK_FORKED &&
                    redlock_node(r, 0, &node) == REDLOCK_FORKED &&
                    redlock_quorum_of(r, "y") == REDLOCK_FORKED &&
                    redlock_extend(lock[1], 1000) == REDLOCK_FORKED;
        redlock *own = NULL;
        redlock_options o;
        redlock_lock_free(lock[0]);
        client_close(r);
        redlock_lock_free(lock[1]);
        o = fleet_options(fleet);
        fine =
            fine && redlock_open(&o, &own) == REDLOCK_OK &&
            redlock_acquire(own, fleet_name(fleet, 0, 0), 10000, NULL, &out) == REDLOCK_BUSY &&
            redlock_acquire(own, fleet_name(fleet, 1, 1), 10000, NULL, &out) == REDLOCK_OK;
        redlock_lock_free(out);
        client_close(own);
        _exit(fine ? 0 : 1);
    }
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK_INT(0, status);
    for (size_t i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "redlock:%s", redlock_name(lock[i]));
        fleet_check_only(fleet, i, key, 3);
        CHECK_OK(redlock_extend(lock[i], 20000));
        client_unlock(lock[i]);
    }
}
