/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutual exclusion under contention. Inside the lock every worker does a plain
 * read-modify-write with a pause between read and write, under a detector of overlap: two
 * holders at once fail the case at once, and a lost update shows in the count.
 */
#include "fixture.h"
#include "helper.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    WORKERS = 8,
    ROUNDS = CHECK_SANITIZED ? 20 : 75,
    TTL_MS = 20000, /* longer than any case: nothing may expire under a slow worker */
    WAIT_MS = 60000,
    HUNG_MS = 1000, /* a hung node may hold up an undecided attempt for this long */
};

static redlock_lock *acquire(redlock *r)
{
    redlock_lock *lock = CLIENT_LOCK(r, "counter", TTL_MS, .wait_ms = WAIT_MS);
    CHECK(redlock_remaining_ms(lock) > 0);
    return lock;
}

/* Atomic only so that a sanitizer does not see what the test is about: no single step of the
 * read-modify-write is protected from the other threads by anything but the lock. */
static _Atomic int counter;
static _Atomic int inside;

struct worker {
    pthread_t thread;
    redlock *client; /* NULL: opens its own */
    const struct cluster *cluster;
};

static void *work(void *data)
{
    struct worker *w = data;
    redlock *r = w->client != NULL ? w->client : client_open(w->cluster, 0);
    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *lock = acquire(r);
        int value;
        CHECK_NEVER(atomic_exchange(&inside, 1));
        value = atomic_load(&counter);
        sched_yield();
        atomic_store(&counter, value + 1);
        CHECK_INT(1, atomic_exchange(&inside, 0));
        CHECK(redlock_remaining_ms(lock) > 0);
        client_unlock(lock);
    }
    if (w->client == NULL)
        client_close(r);
    return NULL;
}

static void contend(struct cluster *c, redlock *shared)
{
    struct worker w[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){.client = shared, .cluster = c};
        CHECK_INT(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(w[i].thread, NULL);
    CHECK_INT(WORKERS * ROUNDS, counter);
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

static void path_of(char *path, size_t size, const char *file)
{
    snprintf(path, size, "%s/%s", check_dir(), file);
}

static int read_count(void)
{
    char path[128], text[32] = "";
    int fd;
    path_of(path, sizeof path, "count");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    CHECK(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return atoi(text);
}

static void write_count(int value)
{
    char path[128], text[32];
    int size, fd;
    path_of(path, sizeof path, "count");
    size = snprintf(text, sizeof text, "%d\n", value);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, (size_t)size) == size);
    close(fd);
}

static void section(void)
{
    char marker[128];
    int fd, value;
    path_of(marker, sizeof marker, "inside");
    fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        FAIL("unsafe: two processes inside at once");
    value = read_count();
    sched_yield();
    write_count(value + 1);
    close(fd);
    CHECK_INT(0, unlink(marker));
}

static pid_t spawn(const struct cluster *c, uint32_t node_timeout_ms)
{
    pid_t pid = fork();
    redlock *r;
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    r = client_open_hasty(c, 0, node_timeout_ms);
    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *lock = acquire(r);
        section();
        CHECK(redlock_remaining_ms(lock) > 0);
        client_unlock(lock);
    }
    client_close(r);
    _exit(0);
}

static void spawn_all(pid_t pids[WORKERS], const struct cluster *c, uint32_t node_timeout_ms)
{
    for (int i = 0; i < WORKERS; i++)
        pids[i] = spawn(c, node_timeout_ms);
}

static void reap(const pid_t *pids)
{
    helpers_join(pids, WORKERS);
    CHECK_NEVER(WORKERS * ROUNDS - read_count());
}

/* Waits until the workers have counted that far. */
static bool counted(void *data)
{
    char path[128];
    int fd;
    char text[32] = "";
    bool done;
    path_of(path, sizeof path, "count");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    done = fd >= 0 && read(fd, text, sizeof text - 1) > 0 && atoi(text) >= *(int *)data;
    if (fd >= 0)
        close(fd);
    return done;
}

static void await_count(int value)
{
    CHECK(wait_until(counted, &value));
}

CASE_NODES(processes_exclude_each_other,
           "Processes that update one file under the lock lose no update.", .nodes = 5)
{
    pid_t pids[WORKERS];
    spawn_all(pids, c, PATIENT_MS);
    reap(pids);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(processes_with_a_dying_node, "Processes lose no update while a node dies.",
           .nodes = 5)
{
    pid_t pids[WORKERS];
    spawn_all(pids, c, PATIENT_MS);
    await_count(WORKERS * ROUNDS / 3);
    server_kill(&c->node[2]);
    reap(pids);
}

/* The node keeps its keys on disk: without that, a restart forgets locks, which no count of
 * the others can make up for. */
CASE(processes_with_a_restarted_node,
     "Processes lose no update while a node restarts with its keys.")
{
    static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always",
                                          NULL};
    struct cluster c;
    pid_t pids[WORKERS];
    cluster_start_with(&c, 5, durable);
    spawn_all(pids, &c, PATIENT_MS);
    await_count(WORKERS * ROUNDS / 3);
    server_restart(&c.node[1]);
    await_count(WORKERS * ROUNDS / 2);
    server_restart(&c.node[4]);
    reap(pids); /* a key whose rollback was cut off may stay for its TTL */
}

CASE_NODES(processes_with_a_hung_node, "Processes lose no update while a node hangs.",
           .nodes = 5)
{
    pid_t pids[WORKERS];
    spawn_all(pids, c, HUNG_MS);
    await_count(WORKERS * ROUNDS / 3);
    server_freeze(&c->node[0]);
    await_count(WORKERS * ROUNDS * 2 / 3);
    server_thaw(&c->node[0]);
    reap(pids); /* here too: the client gave up a connection that the server had not read */
}

static void *count_bare(void *data)
{
    (void)data;
    for (int i = 0; i < 2000; i++) {
        int value = atomic_load(&counter);
        sched_yield();
        atomic_store(&counter, value + 1);
    }
    return NULL;
}

CASE(the_detector_detects,
     "Without the lock the same work loses updates: the detector can fail.")
{
    pthread_t threads[WORKERS];
    for (int attempt = 0; attempt < 20; attempt++) {
        counter = 0;
        for (int i = 0; i < WORKERS; i++)
            CHECK_INT(0, pthread_create(&threads[i], NULL, count_bare, NULL));
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
        if (counter < WORKERS * 2000)
            return;
    }
    FAIL("no update lost in 20 runs without a lock");
}
