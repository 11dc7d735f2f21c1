/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/bench.h"

#include "base/time.h"

void bench_timing_add(struct bench_timing *t, int64_t took_ns)
{
    if (t->spread.count == 0 || took_ns < t->min_ns)
        t->min_ns = took_ns;
    if (t->spread.count == 0 || took_ns > t->max_ns)
        t->max_ns = took_ns;
    t->sum_ns += (double)took_ns;
    latency_add(&t->spread, took_ns);
}

uint64_t bench_failures(const struct bench_result *r)
{
    uint64_t sum = 0;
    for (int i = 0; i < BENCH_ERRORS; i++)
        sum += r->acquire_failed[i] + r->release_failed[i];
    return sum;
}

double bench_per_second(const struct bench_result *r)
{
    uint64_t tenths;
    if (r->elapsed_ns <= 0)
        return 0;
    tenths =
        (uint64_t)((double)r->locks * 10 * (double)RL_NS_PER_S / (double)r->elapsed_ns + 0.5);
    return (double)tenths / 10;
}

uint32_t bench_cpu_percent(const struct bench_result *r)
{
    if (r->elapsed_ns <= 0)
        return 0;
    return (uint32_t)((double)r->cpu_ns * 100 / (double)r->elapsed_ns + 0.5);
}
