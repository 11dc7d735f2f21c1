/* SPDX-License-Identifier: BSD-2-Clause */
/* What it costs to keep many locks: one client renews them all, and how late does it do so? */
#ifndef BENCH_HOLDS_H
#define BENCH_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"
#include "redlock.h"

#define HOLDS_MAX 1000000

struct holds_result {
    unsigned count;        /* locks held when the measurement began */
    int64_t ttl_ms;        /* of each */
    uint64_t renewals;     /* seen while measuring */
    uint64_t jeopardies;   /* renewals that failed at first */
    uint64_t lost;         /* holds that ended */
    unsigned reconnects;   /* connections that had to be made again meanwhile */
    int64_t least_left_ms; /* the shortest validity that was seen of any lock */
    double acquire_s;      /* how long it took to acquire them all */
    struct latency late;   /* start of a renewal against its time, a third of the TTL */
    double latest_us;      /* the worst of them */
    char failure[256];     /* why the first renewal that failed did */
    char loss[256];        /* why the first lock that was lost was */
};

/*
 * Acquires, all at once or spread over a third of the TTL, as renewals will be; holds for the
 * length of the window, and releases. 0 or -1, with a message.
 */
int holds_run(redlock *client, unsigned count, int64_t ttl_ms, bool burst,
              struct window *window, struct holds_result *out);

void holds_table(const struct holds_result *result, const struct window *window);
void holds_json(const struct holds_result *result, const struct window *window);

#endif
