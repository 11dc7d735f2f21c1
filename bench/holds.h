/* SPDX-License-Identifier: BSD-2-Clause */
/* Many locks of one client, acquired, kept renewed for a while, and given back. */
#ifndef BENCH_HOLDS_H
#define BENCH_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"
#include "redlock.h"

struct holds_result {
    uint64_t renewals;   /* seen while measuring */
    uint64_t jeopardies; /* renewals that failed at first */
    uint64_t lost;       /* holds that ended */
    double bytes;        /* memory of all locks together, by the allocator; negative: unknown */
    double rss;          /* the same by what the kernel has given the process */
    double look_cpu_s;   /* what our own looking took, out of the sample's client_cpu_s */
    struct latency late; /* start of a renewal against its time, a third of the TTL */
    char failure[128];   /* why the first renewal that failed did */
    char loss[128];      /* why the first lock that was lost was */
};

struct holds_terms {
    unsigned count;
    int64_t ttl_ms;
    bool
        burst; /* acquire all at once, else spread over a third of the TTL, as renewals will be */
    const struct servers *servers;
    double seconds; /* of holding, behind the acquiring */
};

/* The client drives itself. 0 or -1, with a message. */
int holds_run(redlock *client, const struct holds_terms *terms, struct sample *sample,
              struct holds_result *out);

#endif
