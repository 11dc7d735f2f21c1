/* SPDX-License-Identifier: BSD-2-Clause */
/* Many locks of one client, acquired, kept renewed for a while, and given back. */
#ifndef BENCH_KEEP_H
#define BENCH_KEEP_H

#include <stdint.h>

#include "measure.h"
#include "options.h"
#include "redlock.h"

struct keep_result {
    uint64_t renewals;   /* seen while measuring */
    uint64_t jeopardies; /* renewals that failed at first */
    uint64_t lost;       /* locks that ended */
    double bytes;        /* memory of all locks together, by the allocator; negative: unknown */
    double rss;          /* the same by what the kernel has given the process */
    double look_cpu_s;   /* what our own looking took, out of the sample's client_cpu_s */
    struct latency late; /* start of a renewal against its time, a third of the TTL */
    char failure[128];   /* why the first renewal that failed did */
    char loss[128];      /* why the first lock that was lost was */
};

/* Acquires and renews `count` locks as the options say (ttl_ms, burst). The client drives
 * itself. 0 or
 * -1, with a message. */
int keep_run(redlock *client, const struct options *options, const struct servers *servers,
             unsigned count, struct sample *sample, struct keep_result *out);

#endif
