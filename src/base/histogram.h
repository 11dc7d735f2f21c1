/* SPDX-License-Identifier: BSD-2-Clause */
/* Adding to the histograms of redlock.h. */
#ifndef RL_BASE_HISTOGRAM_H
#define RL_BASE_HISTOGRAM_H

#include "redlock.h"

/* One more, of this length; a negative one counts as none. */
static inline void rl_histogram_add(redlock_histogram *histogram, int64_t ns)
{
    static const int64_t bounds_us[] = REDLOCK_BUCKET_BOUNDS_US;
    int64_t us = ns > 0 ? ns / 1000 : 0;
    int i = 0;

    _Static_assert(sizeof bounds_us / sizeof bounds_us[0] == REDLOCK_BUCKETS - 1,
                   "the last bucket has no bound");
    while (i < REDLOCK_BUCKETS - 1 && us > bounds_us[i])
        i++;
    histogram->bucket[i]++;
    histogram->count++;
    histogram->sum_us += (uint64_t)us;
}

#endif
