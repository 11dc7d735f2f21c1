/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bugs that were seen in other implementations of Redlock: the comment above a case has the
 * bug, and cases with the same number show sides of the same one. Elsewhere: 3 (a dead node
 * makes the call fail, and keys stay) and that of 4 that a restarted node is never connected
 * to again in nodes/faults.c, 5 (a quorum in floating point, or of the nodes that are
 * connected) in sizes.c, 6 (a release overtakes its own acquire on another pooled connection)
 * in order.c, that of 7 that an extension makes a lost key anew in extend.c, 8 (late loss) in
 * lost_in_time.c, 9 (wall clocks) in wallclock.c, 10 (one answer for "taken" and "servers
 * down") in waiting.c, 11 (too many holders) in kinds/semaphore.c, 12 (counters that never
 * expire) in fencing/fencing.c, 13 in watchdog.c.
 */
#include "fixture.h"
#include "proxy.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A success must mean: valid now, and no longer than the keys live on a majority. */
static void check_truly_held(const struct cluster *c, redlock_lock *lock, const char *key)
{
    int64_t remaining_ms = redlock_remaining_ms(lock);
    int outlive = 0;
    CHECK(remaining_ms > 0);
    for (size_t i = 0; i < c->count; i++) {
        long long key_ms;
        if (strcmp(server_cmd(&c->node[i], "GET", key, NULL), redlock_value(lock)) != 0)
            continue;
        key_ms = server_int(&c->node[i], "PTTL", key, NULL);
        outlive += key_ms >= redlock_remaining_ms(lock);
    }
    if (redlock_remaining_ms(lock) > 0) /* else the looking itself took too long */
        CHECK_BETWEEN(c->count / 2 + 1, c->count, outlive);
}

CASE_NODES(peer_bug_01_slow_nodes,
           "A success is a valid lock, however slowly the nodes answer.")
{
    static const int delays_ms[] = {0, 100, 450, 600, 2400};
    struct proxy p[3];
    int won = 0, failed = 0;
    proxies_start(p, c, 3);
    r = client_open_warm(c, 0); /* a quarter of the TTL is the deadline */
    for (size_t d = 0; d < sizeof delays_ms / sizeof delays_ms[0]; d++) {
        for (int i = 0; i < 3; i++)
            p[i].switches->down_delay_ms = delays_ms[d];
        for (int n = 0; n < 3; n++) {
            char name[32], key[48];
            redlock_lock *lock = NULL;
            int error;
            snprintf(name, sizeof name, "x%zu-%d", d, n);
            snprintf(key, sizeof key, "redlock:%s", name);
            error = redlock_acquire(r, name, 2000, NULL, &lock);
            if (error == REDLOCK_OK) {
                check_truly_held(c, lock, key);
                redlock_lock_free(lock);
                won++;
            } else {
                CHECK_ERR(REDLOCK_NOQUORUM, error);
                failed++;
            }
        }
    }
    CHECK(won >= 1);    /* without delay */
    CHECK(failed >= 3); /* with 2,400 ms for a TTL of 2,000 ms */
}

/* What the child of the next case found out. */
struct outcome {
    _Atomic int started;
    int error;
    int64_t remaining_ms;
    int keys;
};

/* The replies are there when the process wakes up, but their time has passed. */
CASE(peer_bug_01_paused_client,
     "A client paused beyond its TTL during an acquire does not win.")
{
    struct cluster c;
    struct proxy p[3];
    struct outcome *o =
        mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;
    CHECK(o != MAP_FAILED);
    cluster_start(&c, 3);
    proxies_start(p, &c, 3);
    pid = fork();
    if (pid == 0) {
        redlock_lock *lock = NULL;
        redlock *r = client_open(&c, 0);
        client_warm(r);
        for (int i = 0; i < 3; i++)
            p[i].switches->hold = 1;
        o->started = 1;
        o->error = redlock_acquire(r, "x", 4000, NULL, &lock);
        if (lock != NULL) {
            o->remaining_ms = redlock_remaining_ms(lock);
            o->keys = cluster_count(&c, "redlock:x");
        }
        _exit(0);
    }
    /* Stopped once every node has its key and every reply is held back. */
    CHECK(cluster_await(&c, "redlock:x", 3));
    CHECK_INT(0, kill(pid, SIGSTOP));
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 0;
    CHECK(cluster_await(&c, "redlock:x", 0));
    CHECK_INT(0, kill(pid, SIGCONT));
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK_ERR(REDLOCK_NOQUORUM, o->error);
}

CASE_NODES(peer_bug_02_split_vote,
           "Two clients that split the nodes both get the lock in the end.", .nodes = 4)
{
    /* even: ties are likely */
    redlock *a = client_open(c, 0);
    redlock *b = client_open(c, 0);
    redlock_request q = REDLOCK_REQUEST(.wait_ms = GIVE_UP_MS);
    redlock_lock *lock;
    client_warm(a);
    client_warm(b);
    /* A tie as left by a rival that died in the middle, gone after 2 s. */
    cluster_set(c, 0, 2, "redlock:x", "rival one", 2000);
    cluster_set(c, 2, 2, "redlock:x", "rival two", 2000);
    lock = client_lock_as(a, "x", 10000, q);
    client_unlock(lock);
    CHECK_OK(redlock_acquire(b, "x", 10000, &q, &lock));
}

/*
 * No deadline per node: a hung node blocks every call, and (1) what is returned as a success
 * has expired.
 */
CASE_ON(peer_bug_04_hung_node_blocks,
        "No operation waits for a hung node, and a lock that is won beside it is valid.",
        .nodes = 5, .node_timeout_ms = FAR_MS)
{
    redlock_lock *last;
    server_freeze(&c->node[0]);
    for (int i = 0; i < 5; i++) {
        int64_t start_ms = now_ms();
        redlock_lock *lock = client_lock(r, "x", LONG_TTL_MS);
        CHECK_OK(redlock_extend(lock, LONG_TTL_MS));
        CHECK_OK(redlock_release(lock));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
        redlock_lock_free(lock);
    }
    last = client_lock(r, "x", LONG_TTL_MS);
    server_thaw(&c->node[0]);
    check_truly_held(c, last, "redlock:x");
    client_unlock(last);
    CHECK(cluster_await_empty(c));
}

CASE_ON(peer_bug_07_extend_of_anothers,
        "Extending never touches a key that another client holds now.", .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_set(c, 0, 3, "redlock:x", "another", 5000);
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 30000));
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
    for (int i = 0; i < 3; i++)
        CHECK_BETWEEN(1, 5000, server_int(&c->node[i], "PTTL", "redlock:x", NULL));
}
