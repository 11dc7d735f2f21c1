/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"

#include <stdatomic.h>
#include <stdio.h>

enum { NODES = 5, TTL_MS = 20000, TRIERS = 4 };

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

static void start_acquire(struct hog *hog)
{
    hog->lock = CLIENT_START(hog->r, "x", TTL_MS, .flags = hog->flags,
                             .wait_ms = REDLOCK_WAIT_FOREVER, .data = hog);
}

/* Gives the lock back and requests it again in the same moment. */
static void release_and_acquire(void *data)
{
    struct hog *hog = data;
    const redlock_event *event;
    hog->r = client_open_warm(&hog->c, 0);
    start_acquire(hog);
    while (!hog->shared->stop) {
        if (!(event = next_event(hog->r, 20)))
            continue;
        if (event->type == REDLOCK_EVENT_RELEASED)
            redlock_lock_free(event->lock);
        if (event->type != REDLOCK_EVENT_ACQUIRED)
            continue;
        CHECK_OK(event->error);
        hog->shared->turns++;
        CHECK_OK(redlock_start_release(event->lock));
        start_acquire(hog);
    }
    client_close(hog->r);
}

/* Tries, holds for a moment, tries again. */
static void try_all_the_time(void *data)
{
    struct hog *hog = data;
    hog->r = client_open_warm(&hog->c, 0);
    while (!hog->shared->stop)
        hog->shared->turns += client_try(hog->r, "x", TTL_MS) == REDLOCK_OK;
    client_close(hog->r);
}

static int wait_beside(struct hog *hog, int services, int64_t wait_ms)
{
    redlock *r = client_open_warm(&hog->c, 0);
    int served = 0;
    AWAIT(hog->shared->turns > 10);
    for (int i = 0; i < services; i++) {
        redlock_request q = REDLOCK_REQUEST(.flags = hog->flags, .wait_ms = wait_ms);
        redlock_lock *lock = NULL;
        int before = hog->shared->turns;
        int64_t start_ms = now_ms();
        int error = redlock_acquire(r, "x", TTL_MS, &q, &lock);
        printf("# %s after %lld ms and %d turns of others\n", redlock_error_name(error),
               (long long)(now_ms() - start_ms), hog->shared->turns - before);
        CHECK(error == REDLOCK_OK || error == REDLOCK_TIMEOUT);
        if (lock != NULL)
            client_unlock(lock);
        served += error == REDLOCK_OK;
    }
    hog->shared->stop = 1;
    client_close(r);
    return served;
}

static int run(void (*others)(void *), int count, uint32_t flags, int services, int64_t wait_ms)
{
    static struct hog hog;
    pid_t pids[TRIERS];
    int served;
    cluster_start(&hog.c, NODES);
    hog.flags = flags;
    hog.shared = helper_memory(sizeof *hog.shared);
    for (int i = 0; i < count; i++)
        pids[i] = helper_start(others, &hog);
    served = wait_beside(&hog, services, wait_ms);
    helpers_join(pids, count);
    return served;
}

int hog_beside_asker(uint32_t flags, int services, int64_t wait_ms)
{
    return run(release_and_acquire, 1, flags, services, wait_ms);
}

int hog_beside_triers(int services, int64_t wait_ms)
{
    return run(try_all_the_time, TRIERS, 0, services, wait_ms);
}
