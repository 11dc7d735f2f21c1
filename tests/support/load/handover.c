/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "lab/stats/series.h"
#include "proxy.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

enum {
    NODES = 5,
    WAITERS = 6,
    TTL_MS = 20000,
    HOLD_MS = 2, /* the last holder is back in the queue before the next release */
    SAMPLES_MAX = 1024,
    UNCONTENDED = 20, /* acquires that handovers are compared with */
};

struct passage {
    int64_t asked_ns, granted_ns, released_ns;
};

struct round {
    _Atomic int ready, go, stop;
    _Atomic int count;
    int wanted;
    struct passage passage[SAMPLES_MAX]; /* in the order of the grants: written by the holder */
};

struct job {
    struct cluster c;
    struct round *round;
    int up; /* nodes */
};

static void pass(redlock *r, struct round *round)
{
    redlock_lock *lock = NULL;
    struct passage p = {.asked_ns = now_ns()};
    int place;
    lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_FAIR, .wait_ms = REDLOCK_WAIT_FOREVER);
    p.granted_ns = now_ns();
    sleep_ms(HOLD_MS);
    place = atomic_fetch_add(&round->count, 1);
    if (place + 1 >= round->wanted)
        round->stop = 1;
    p.released_ns = now_ns();
    if (place < SAMPLES_MAX)
        round->passage[place] = p;
    redlock_release(lock);
    redlock_lock_free(lock);
}

static void wait_and_pass(void *data)
{
    struct job *job = data;
    redlock *r = client_open_hasty(&job->c, 0, STEADY_MS);
    client_warm_nodes(r, job->up);
    job->round->ready++;
    while (!job->round->go)
        sleep_ms(1);
    while (!job->round->stop)
        pass(r, job->round);
    client_close(r);
}

/* After a sleep as long as a waiter's, of a name that no other process wants. */
static int64_t uncontended_us(struct job *job, uint32_t flags)
{
    static int64_t took_ns[UNCONTENDED];
    redlock *r = client_open_hasty(&job->c, 0, STEADY_MS);
    client_warm_nodes(r, job->up);
    for (int i = 0; i < UNCONTENDED; i++) {
        redlock_lock *lock = NULL;
        int64_t start_ns;
        sleep_ms(WAITERS * HOLD_MS);
        start_ns = now_ns();
        lock = CLIENT_LOCK(r, "uncontended", TTL_MS, .flags = flags);
        took_ns[i] = now_ns() - start_ns;
        client_unlock(lock);
    }
    client_close(r);
    return quantile_of(took_ns, UNCONTENDED, 0.5) / 1000;
}

static bool is_over(void *data)
{
    return ((struct round *)data)->stop != 0;
}

/* Only where the next one was waiting already. */
static struct handover evaluate(const struct round *round)
{
    static int64_t took_ns[SAMPLES_MAX];
    struct handover h = {0};
    int records = round->count < SAMPLES_MAX ? round->count : SAMPLES_MAX;
    for (int i = 1; i < records; i++)
        if (round->passage[i].asked_ns < round->passage[i - 1].released_ns - RL_NS_PER_MS)
            took_ns[h.count++] =
                round->passage[i].granted_ns - round->passage[i - 1].released_ns;
    if (h.count == 0)
        return h;
    h.median_us = quantile_of(took_ns, h.count, 0.5) / 1000;
    h.worst_us = took_ns[h.count * 9 / 10] / 1000;
    return h;
}

struct handover handover_measure(enum trouble trouble, int way_ms, int count, int64_t limit_ms)
{
    static struct job job;
    struct proxy way[NODES];
    pid_t pids[WAITERS];
    struct handover h;
    bool over;
    int64_t plain_us, acquire_us;
    job.round = helper_memory(sizeof *job.round);
    job.round->wanted = count + 1;
    job.up = NODES - (trouble != ALL_UP);
    cluster_start(&job.c, NODES);
    proxies_start(way, &job.c, NODES);
    for (int i = 0; i < NODES; i++) {
        way[i].switches->up_delay_ms = way_ms;
        way[i].switches->down_delay_ms = way_ms;
    }
    trouble_begin(&job.c, trouble);
    for (int i = 0; i < WAITERS; i++)
        pids[i] = helper_start(wait_and_pass, &job);
    AWAIT(job.round->ready == WAITERS);
    plain_us = uncontended_us(&job, 0);
    acquire_us = uncontended_us(&job, REDLOCK_FAIR);
    job.round->go = 1;
    over = wait_within(is_over, job.round, limit_ms);
    job.round->stop = 1;
    for (int i = 0; i < WAITERS; i++) {
        int status = -1;
        if (!over)
            kill(pids[i], SIGKILL);
        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        CHECK(!over || status == 0);
    }
    h = evaluate(job.round);
    h.acquire_us = acquire_us;
    h.plain_us = plain_us;
    printf("# %s: %d handovers, median %lld us, nine of ten within %lld us; an uncontended "
           "acquire %lld us, by a plain SET %lld us\n",
           trouble_text(trouble), h.count, (long long)h.median_us, (long long)h.worst_us,
           (long long)h.acquire_us, (long long)h.plain_us);
    return h;
}
