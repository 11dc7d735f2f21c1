/* SPDX-License-Identifier: BSD-2-Clause */
/* Latencies in ranges that people can read: round bounds, each a little larger
 * than the last. */
#ifndef CLI_HISTOGRAM_H
#define CLI_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "bench/latency.h"

#define HISTOGRAM_RANGES_MAX 100
#define HISTOGRAM_TIME_MAX 24

struct histogram_range {
    int64_t up_to_ns; /* and not less than that of the range before */
    uint64_t count;
};

struct histogram {
    size_t count;
    struct histogram_range range[HISTOGRAM_RANGES_MAX];
};

/*
 * From the first range that is not empty to the last, ten of them for every power of ten, or
 * fewer so that there are `most` at most. The counts add up to that of `latency`.
 */
void histogram_make(struct histogram *h, const struct latency *latency, size_t most);

/* "850 ns", "213 us", "1.24 ms", "12.4 ms", "124 ms", "1.24 s" */
void histogram_time(char out[HISTOGRAM_TIME_MAX], double time_ns);

#endif
