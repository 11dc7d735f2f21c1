/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/latency.h"

/* Log-linear: exact below 64 ns, then 64 equal steps within each power of two. */
static unsigned bucket_of(uint64_t ns)
{
    unsigned shift, bucket;
    if (ns < 1u << LATENCY_SUB_BITS)
        return (unsigned)ns;
    shift = 63u - (unsigned)__builtin_clzll(ns) - LATENCY_SUB_BITS;
    bucket = ((shift + 1) << LATENCY_SUB_BITS) +
             (unsigned)((ns >> shift) - (1u << LATENCY_SUB_BITS));
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

uint64_t latency_bucket_ns(unsigned bucket)
{
    unsigned shift;
    uint64_t step;
    if (bucket < 1u << LATENCY_SUB_BITS)
        return bucket;
    shift = (bucket >> LATENCY_SUB_BITS) - 1;
    step = (bucket & ((1u << LATENCY_SUB_BITS) - 1)) + (1u << LATENCY_SUB_BITS);
    return step << shift;
}

void latency_add(struct latency *latency, int64_t ns)
{
    latency->count++;
    latency->bucket[bucket_of(ns > 0 ? (uint64_t)ns : 0)]++;
}

void latency_merge(struct latency *into, const struct latency *from)
{
    into->count += from->count;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

double latency_quantile_us(const struct latency *latency, double quantile)
{
    uint64_t rank = (uint64_t)((double)latency->count * quantile);
    uint64_t seen = 0;
    if (rank > 0 && rank == latency->count)
        rank--;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        seen += latency->bucket[i];
        if (seen > rank)
            return (double)latency_bucket_ns(i) / 1e3;
    }
    return 0;
}
