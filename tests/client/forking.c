/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * After fork() the child's copy of a client is dead: every call says so, and freeing it there
 * must not touch what the parent holds.
 */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define TAG "AZaz09_-AZaz09_-AZaz09"

/* Every call of the interface that takes a client or a handle. */
static void check_every_call(redlock *r, redlock_lock *lock)
{
    redlock_lock *out = NULL;
    redlock_job job = 0;
    const redlock_event *event = NULL;
    redlock_node_info node = REDLOCK_NODE_INFO();
    redlock_counters counters = REDLOCK_COUNTERS();
    redlock_request lease = REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .idempotency_key = TAG);
    redlock_request known = REDLOCK_REQUEST();
    CHECK_ERR(REDLOCK_FORKED, redlock_acquire(r, "y", 1000, NULL, &out));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_ERR(REDLOCK_FORKED, redlock_start_acquire(r, "y", 1000, NULL, &out));
    CHECK_ERR(REDLOCK_FORKED, redlock_adopt(r, "y", "value", NULL, &out));
    CHECK_ERR(REDLOCK_FORKED, redlock_acquire(r, "y", 1000, &lease, &out));
    CHECK_ERR(REDLOCK_FORKED, redlock_adopt(r, "x", redlock_value(lock), &known, &out));
    CHECK_ERR(REDLOCK_FORKED, redlock_release_by_key(r, "x", TAG, NULL));
    CHECK_ERR(REDLOCK_FORKED, redlock_start_release_by_key(r, "x", TAG, NULL, &job));
    CHECK_ERR(REDLOCK_FORKED, redlock_extend(lock, 1000));
    CHECK_ERR(REDLOCK_FORKED, redlock_start_extend(lock, 1000));
    CHECK_ERR(REDLOCK_FORKED, redlock_release(lock));
    CHECK_ERR(REDLOCK_FORKED, redlock_start_release(lock));
    CHECK_ERR(REDLOCK_FORKED, redlock_cancel(lock));
    CHECK(redlock_lock_report(lock) == NULL);
    CHECK_ERR(REDLOCK_FORKED, redlock_next(r, &event, 0));
    CHECK_ERR(REDLOCK_FORKED, redlock_next(r, &event, -1));
    CHECK_ERR(REDLOCK_FORKED, redlock_fd(r));
    CHECK_ERR(REDLOCK_FORKED, redlock_query(r, "y", NULL));
    CHECK_ERR(REDLOCK_FORKED, redlock_start_query(r, "y", NULL, &job));
    CHECK_ERR(REDLOCK_FORKED, redlock_cancel_job(r, 1));
    CHECK_ERR(REDLOCK_FORKED, redlock_list(r, NULL));
    CHECK_ERR(REDLOCK_FORKED, redlock_stats(r, &counters));
    CHECK_ERR(REDLOCK_FORKED, redlock_node(r, 0, &node));
    CHECK_ERR(REDLOCK_FORKED, redlock_ping(r, NULL));
    CHECK_ERR(REDLOCK_FORKED, redlock_admit(r, NULL));
    CHECK_ERR(REDLOCK_FORKED, redlock_audit(r, 1000, NULL));
    /* The child does not hold it: nothing it does may rely on it. */
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_ERR(REDLOCK_FORKED, redlock_state(lock));
    CHECK_INT(0, redlock_deadline_ns(lock));
    CHECK(out == NULL && event == NULL && job == 0);
}

static void fork_with(struct cluster *c, redlock *r, bool close_first)
{
    redlock_lock *lock = client_lock_on(r, c, 3, "x", 30000);
    pid_t pid = fork();
    int status = -1;
    CHECK(pid >= 0);
    if (pid == 0) {
        redlock *own;
        alarm(120);
        check_every_call(r, lock);
        if (close_first)
            client_close(r);
        redlock_lock_free(lock);
        if (!close_first)
            client_close(r);
        /* A client of its own works. */
        own = client_open(c, 0);
        CHECK_ERR(REDLOCK_BUSY, client_try(own, "x", 10000));
        CHECK_OK(client_try(own, "child", 10000));
        client_close(own);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(0, status);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    CHECK(redlock_remaining_ms(lock) > 0);
    CHECK_OK(redlock_extend(lock, 30000));
    client_unlock(lock);
    CHECK_OK(client_try(r, "x", 10000));
    CHECK_INT(
        1,
        client_node(r, 0).connects); /* the child's close did not end the parent's connection */
}

CASE_ON(child_gets_forked,
        "Every call of a forked child is FORKED, and the parent's lock is untouched.")
{
    fork_with(c, r, false);
}

CASE_ON(child_closes_first,
        "A forked child may close the client before the handle without harm to the parent.")
{
    fork_with(c, r, true);
}

CASE_OF_ON(child_gets_forked_io_thread,
           "Every call of a forked child, which lacks the I/O thread, is FORKED.",
           fork_with(c, r, false), .flags = REDLOCK_THREAD);

CASE_OF_ON(child_closes_first_io_thread,
           "A forked child without the I/O thread may close the client before the handle.",
           fork_with(c, r, true), .flags = REDLOCK_THREAD);

CASE_ON(child_of_a_lease,
        "A forked child that frees a kept and an adopted lock leaves both to the parent.",
        .flags = REDLOCK_THREAD)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .idempotency_key = TAG);
    redlock_request known = REDLOCK_REQUEST();
    redlock_lock *kept = NULL, *adopted = NULL;
    pid_t pid;
    int status = -1;
    CHECK_OK(redlock_acquire(r, "x", 30000, &q, &kept));
    CHECK_OK(redlock_adopt(r, "x", redlock_value(kept), &known, &adopted));
    CHECK_OK(redlock_extend(adopted, 30000));
    CHECK(cluster_await(c, "redlock:x", 3));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        redlock *own;
        alarm(120);
        CHECK_ERR(REDLOCK_FORKED, redlock_extend(adopted, 30000));
        CHECK_ERR(REDLOCK_FORKED, redlock_release(kept));
        redlock_lock_free(adopted);
        redlock_lock_free(kept);
        client_close(r);
        /* Another client knows the tag: that is what ends a lease from anywhere. */
        own = client_open(c, 0);
        CHECK_ERR(REDLOCK_YOURS, redlock_acquire(own, "x", 30000, &q, &kept));
        client_close(own);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(0, status);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", redlock_value(kept)));
    CHECK_OK(redlock_extend(adopted, 30000));
    CHECK_OK(redlock_release_by_key(r, "x", TAG, NULL));
    redlock_lock_free(adopted);
    redlock_lock_free(kept);
}

CASE_NODES(watchdog_dies_with_fork,
           "A forked child does not renew: the lock expires when the parent dies.")
{
    int ready[2];
    pid_t parent;
    char byte;
    int status = -1;
    CHECK_INT(0, pipe(ready));
    parent = fork();
    if (parent == 0) {
        redlock_lock *lock;
        r = client_open(c, REDLOCK_THREAD);
        lock = CLIENT_LOCK(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
        if (fork() == 0) {
            alarm(120);
            CHECK(write(ready[1], "r", 1) == 1);
            for (;;)
                pause();
        }
        sleep_ms(RENEWED_TTL_MS + 1000); /* renewed more than once meanwhile */
        CHECK(redlock_remaining_ms(lock) > 0);
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK_INT(1, cluster_count(c, "redlock:x") >= 2);
    CHECK(waitpid(parent, &status, 0) == parent);
    CHECK_INT(0, status);
    CHECK(cluster_await(c, "redlock:x", 0));
}
