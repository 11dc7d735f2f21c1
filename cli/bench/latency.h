/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of latencies: a fixed size, any number of values, quantiles within 1.6 %. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdint.h>

#define LATENCY_SUB_BITS 6 /* 64 steps per power of two: answers are right within 1.6 % */
#define LATENCY_BUCKETS ((40 - LATENCY_SUB_BITS) << LATENCY_SUB_BITS) /* up to 2^39 ns */

struct latency {
    uint64_t count;
    uint32_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, int64_t ns);
void latency_merge(struct latency *into, const struct latency *from);
double latency_quantile_us(const struct latency *latency, double quantile);

/* The smallest value that goes into a bucket. */
uint64_t latency_bucket_ns(unsigned bucket);

#endif
