/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Somebody who asks again in the very write that gives the lock back: its request is at every
 * node before a waiter can have heard of the release. Overtaking is allowed without
 * REDLOCK_FAIR; keeping a waiter away for as long as it likes is not.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

enum { NODES = 5, TTL_MS = 20000, PATIENCE_MS = 4000, SERVICES = 5 };

struct hog {
    struct cluster c;
    uint32_t flags;
    redlock *r;
    redlock_lock *lock;
    struct {
        _Atomic int stop;
        _Atomic int turns;
    } * shared;
};

static void released(redlock_lock *lock, int error, void *data)
{
    (void)error;
    (void)data;
    redlock_lock_free(lock);
}

static void ask(struct hog *hog);

static void granted(redlock_lock *lock, int error, void *data)
{
    struct hog *hog = data;
    if (error == REDLOCK_CANCELED && hog->shared->stop) {
        redlock_lock_free(lock);
        return;
    }
    CHECK_OK(error);
    hog->shared->turns++;
    CHECK_OK(redlock_start_release(lock, released, NULL));
    ask(hog);
}

static void ask(struct hog *hog)
{
    redlock_request q = {.size = sizeof q,
                         .flags = hog->flags,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = granted,
                         .data = hog};
    if (!hog->shared->stop)
        CHECK_OK(redlock_start(hog->r, "x", TTL_MS, &q, &hog->lock));
}

static void work(void *data)
{
    struct hog *hog = data;
    hog->r = client_open_warm(&hog->c, 0);
    ask(hog);
    while (!hog->shared->stop)
        CHECK(redlock_process(hog->r, 20) >= 0);
    redlock_close(hog->r);
}

static bool is_busy(void *data)
{
    return ((struct hog *)data)->shared->turns > 10;
}

static void wait_beside_a_hog(uint32_t flags)
{
    static struct hog hog;
    cluster_start(&hog.c, NODES);
    hog.flags = flags;
    hog.shared = helper_memory(sizeof *hog.shared);
    pid_t pid = helper_start(work, &hog);
    redlock *r = client_open_warm(&hog.c, 0);
    CHECK(wait_until(is_busy, &hog, 10000));
    for (int i = 0; i < SERVICES; i++) {
        redlock_request q = {.size = sizeof q, .flags = flags, .wait_ms = PATIENCE_MS};
        redlock_lock *lock = NULL;
        int before = hog.shared->turns;
        int64_t start_ms = now_ms();
        int error = redlock_acquire(r, "x", TTL_MS, &q, &lock);
        printf("# %s after %lld ms and %d turns of the other\n", redlock_error_name(error),
               (long long)(now_ms() - start_ms), hog.shared->turns - before);
        CHECK_OK(error);
        client_unlock(lock);
    }
    hog.shared->stop = 1;
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(0, status);
    redlock_close(r);
}

CASE(hog, "A waiter is served beside somebody who asks again at once.")
{
    wait_beside_a_hog(0);
}

CASE(hog_fair, "With REDLOCK_FAIR on both sides as well.")
{
    wait_beside_a_hog(REDLOCK_FAIR);
}
