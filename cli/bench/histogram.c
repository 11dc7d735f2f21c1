/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/display.h"

#include <stdbool.h>
#include <stdio.h>

#define STEPS 10   /* bounds per power of ten at most */
#define DECADES 10 /* from a microsecond on: more than a latency can be */

/* Ten bounds per power of ten, five, three (1, 2, 5), or one. */
static bool is_bound(unsigned step, unsigned fineness)
{
    switch (fineness) {
    case 0:
        return true;
    case 1:
        return step % 2 == 0;
    case 2:
        return step == 0 || step == 3 || step == 7;
    default:
        return step == 0;
    }
}

static void fill(struct histogram *h, const struct latency *latency, unsigned fineness)
{
    static const int64_t round_ns[STEPS] = {1000, 1250, 1600, 2000, 2500,
                                            3150, 4000, 5000, 6300, 8000};
    int64_t power = 1;
    unsigned bucket = 0;
    h->count = 0;
    for (unsigned i = 0; i < STEPS * DECADES; i++) {
        struct histogram_range *range;
        if (i > 0 && i % STEPS == 0)
            power *= 10;
        if (!is_bound(i % STEPS, fineness))
            continue;
        range = &h->range[h->count++];
        *range = (struct histogram_range){.up_to_ns = round_ns[i % STEPS] * power};
        while (bucket < LATENCY_BUCKETS &&
               latency_bucket_ns(bucket) < (uint64_t)range->up_to_ns)
            range->count += latency->bucket[bucket++];
    }
}

static void trim(struct histogram *h)
{
    size_t first = 0;
    while (h->count > 0 && h->range[h->count - 1].count == 0)
        h->count--;
    while (first < h->count && h->range[first].count == 0)
        first++;
    for (size_t i = first; i < h->count; i++)
        h->range[i - first] = h->range[i];
    h->count -= first;
}

void histogram_make(struct histogram *h, const struct latency *latency, size_t most)
{
    for (unsigned fineness = 0; fineness < 4; fineness++) {
        fill(h, latency, fineness);
        trim(h);
        if (h->count <= most)
            return;
    }
}

void histogram_time(char out[HISTOGRAM_TIME_MAX], double time_ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    int decimals;
    while (time_ns >= 999.5 && unit < 3) {
        time_ns /= 1000;
        unit++;
    }
    decimals = unit == 0 || time_ns >= 99.95 ? 0 : time_ns >= 9.995 ? 1 : 2;
    snprintf(out, HISTOGRAM_TIME_MAX, "%.*f %s", decimals, time_ns, units[unit]);
}
