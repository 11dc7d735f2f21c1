/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "kinds.h"
#include "relay.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

enum {
    NODES = 3,
    PROCESSES_MAX = 4,
    OUTER_TTL_MS = 60000,
    INNER_TTL_MS = 400, /* short: attempts of a load may fail */
    DROP_PERCENT = 30,
    LOSE_PERCENT = 8,
    RECOVERY_MS = 500,
    DEPTH_MAX = 3,
};

struct shared {
    _Atomic int nested, failed, running;
};

struct nesting {
    struct cluster direct, relayed;
    struct relay relay[NODES];
    struct shared *shared;
    const char *owner;
    int iterations;
    unsigned seed;
};

static redlock *open_hasty(const struct cluster *c)
{
    return CLIENT_OPEN(c, .node_timeout_ms = CHECK_SANITIZED ? 400 : 100);
}

/* Cut connections come back after a while: an attempt without them would try nothing. */
static void recover(redlock *r)
{
    for (int64_t end_ms = now_ms() + RECOVERY_MS; now_ms() < end_ms;) {
        if (client_ping(r, NULL) == NODES)
            return;
        sleep_ms(1);
    }
}

/* Holds it up to DEPTH_MAX times, lets go in any order, or leaves that to the handle's end. */
static void nest(redlock *r, struct nesting *l)
{
    redlock_lock *lock[DEPTH_MAX] = {NULL};
    int depth = seed_draw(&l->seed, 1, DEPTH_MAX);
    recover(r);
    for (int i = 0; i < depth; i++) {
        redlock_request q = owner_request(l->owner);
        if (redlock_acquire(r, "x", INNER_TTL_MS, &q, &lock[i]) == REDLOCK_OK)
            l->shared->nested++;
        else
            l->shared->failed++;
    }
    for (int i = 0, first = seed_draw(&l->seed, 0, depth - 1); i < depth; i++) {
        redlock_lock *next = lock[(first + i) % depth];
        if (next != NULL && seed_draw(&l->seed, 0, 2) > 0)
            redlock_release(next);
        redlock_lock_free(next);
    }
}

static void work(void *data)
{
    struct nesting *l = data;
    redlock *r = open_hasty(&l->relayed);
    for (int i = 0; i < l->iterations; i++)
        nest(r, l);
    client_close(r);
    l->shared->running--;
}

static void make_noise(struct nesting *l, int drop_percent, int lose_percent)
{
    for (int i = 0; i < NODES; i++) {
        l->relay[i].switches->drop_percent = drop_percent;
        l->relay[i].switches->lose_percent = lose_percent;
    }
}

static int intrude(redlock *rival, const redlock_lock *outer)
{
    redlock_lock *lock = NULL;
    int got;
    CHECK(redlock_remaining_ms(outer) > 0);
    got = redlock_acquire(rival, "x", 2000, NULL, &lock) == REDLOCK_OK;
    redlock_lock_free(lock);
    return got;
}

static void start(struct nesting *l)
{
    cluster_start(&l->direct, NODES);
    l->relayed = l->direct;
    for (int i = 0; i < NODES; i++) {
        relay_start(&l->relay[i], l->direct.node[i].port.number, l->seed + (unsigned)i);
        l->direct.urls[i] = l->direct.url[i];
        l->relayed.urls[i] = l->relay[i].url;
    }
    l->shared = helper_memory(sizeof *l->shared);
}

struct reentrant_outcome reentrant_load(int processes, int iterations, unsigned seed,
                                        bool noise)
{
    static struct nesting l;
    struct reentrant_outcome out = {0};
    pid_t pids[PROCESSES_MAX];
    int error;
    redlock_lock *outer;
    redlock_request q;
    redlock *holder, *rival;
    CHECK(processes <= PROCESSES_MAX);
    l.iterations = iterations;
    l.owner = processes > 0 ? "job-7" : NULL;
    l.seed = seed;
    start(&l);
    l.shared->running = processes;
    for (int i = 0; i < processes; i++, l.seed++)
        pids[i] = helper_start(work, &l);
    holder = open_hasty(processes > 0 ? &l.direct : &l.relayed);
    rival = client_open_warm(&l.direct, 0);
    client_warm(holder);
    q = owner_request(l.owner);
    q.wait_ms = PATIENT_MS; /* a hasty client may need more than one attempt */
    outer = client_lock_as(holder, "x", OUTER_TTL_MS, q);
    if (noise)
        make_noise(&l, DROP_PERCENT, LOSE_PERCENT);
    for (int i = 0; processes > 0 ? l.shared->running > 0 : i < iterations; i++) {
        if (processes == 0)
            nest(holder, &l);
        else
            sleep_ms(1);
        out.intrusions += intrude(rival, outer);
    }
    make_noise(&l, 0, 0);
    for (int i = 0; i < processes; i++)
        waitpid(pids[i], NULL, 0);
    client_warm(holder);
    /* Whatever a lost answer left of the inner holds has ended by itself. */
    sleep_ms(INNER_TTL_MS);
    out.intrusions += intrude(rival, outer);
    error = redlock_release(outer);
    if (out.intrusions == 0)
        CHECK_OK(error);
    redlock_lock_free(outer);
    out.left = !kind_await_clean(&l.direct);
    if (out.left)
        kind_print(&l.direct);
    out.nested = l.shared->nested;
    out.failed = l.shared->failed;
    for (int i = 0; i < NODES; i++)
        printf("# relay %d: %d requests dropped, %d answers lost\n", i,
               (int)l.relay[i].switches->dropped, (int)l.relay[i].switches->lost);
    printf("# %d nested holds, %d attempts failed, %d intrusions\n", out.nested, out.failed,
           out.intrusions);
    client_close(rival);
    client_close(holder);
    return out;
}
