/* SPDX-License-Identifier: BSD-2-Clause */
/* A hung node slows no acquire down: measured in one run, healthy and hung in turns. */
#include "fixture.h"
#include "lab/stats/series.h"

#include <stdio.h>

enum { ROUNDS = 12, PER_ROUND = 100, RUNS = 5 };

static int64_t timed_cycle_ns(redlock *r)
{
    redlock_lock *lock = NULL;
    int64_t start_ns = now_ns();
    int64_t took_ns;
    CHECK_OK(redlock_acquire(r, "speed", 10000, NULL, &lock));
    took_ns = now_ns() - start_ns;
    client_unlock(lock);
    return took_ns;
}

static void measure(redlock *r, int64_t *samples_ns)
{
    for (int i = 0; i < PER_ROUND; i++)
        samples_ns[i] = timed_cycle_ns(r);
}

/* The median with one node hung, as a multiple of the median with all healthy. */
static double slowdown(redlock *r, struct cluster *c)
{
    static int64_t healthy_ns[ROUNDS * PER_ROUND], hung_ns[ROUNDS * PER_ROUND];
    int64_t healthy, hung;
    double ratio;
    for (int i = 0; i < ROUNDS; i++) {
        measure(r, healthy_ns + i * PER_ROUND);
        server_freeze(&c->node[i % 5]);
        measure(r, hung_ns + i * PER_ROUND);
        server_thaw(&c->node[i % 5]);
        client_warm(r);
    }
    healthy = quantile_of(healthy_ns, ROUNDS * PER_ROUND, 0.5);
    hung = quantile_of(hung_ns, ROUNDS * PER_ROUND, 0.5);
    ratio = (double)hung / (double)healthy;
    printf("# median acquire: healthy %lld us, one node hung %lld us, ratio %.2f\n",
           (long long)healthy / 1000, (long long)hung / 1000, ratio);
    return ratio;
}

/*
 * Where the kernel puts five servers on few cores decides some microseconds for a whole run:
 * 1.0 and 1.2 both occur. A wait for the hung node would be in every run, so the best of them
 * counts.
 */
CASE_ON(hung_node_costs_nothing,
        "One hung node makes the median acquire at most 1.2 times slower.", .nodes = 5,
        .node_timeout_ms = STEADY_MS)
{
    double best = 0;
    for (int i = 0; i < PER_ROUND; i++)
        timed_cycle_ns(r); /* caches and connections warm up */
    for (int i = 0; i < RUNS && (i == 0 || best > 1.2); i++) {
        double ratio = slowdown(r, c);
        if (i == 0 || ratio < best)
            best = ratio;
    }
    CHECK(best <= 1.2);
}
