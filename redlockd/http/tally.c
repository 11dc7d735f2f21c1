/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/tally.h"

#include <assert.h>

#define NS_PER_US 1000

void http_histogram_add(redlock_histogram *histogram, int64_t took_ns)
{
    static const uint64_t bounds_us[REDLOCK_BUCKETS - 1] = REDLOCK_BUCKET_BOUNDS_US;
    uint64_t took_us = took_ns > 0 ? (uint64_t)took_ns / NS_PER_US : 0;
    unsigned i = 0;

    while (i < REDLOCK_BUCKETS - 1 && took_us > bounds_us[i])
        i++;
    histogram->bucket[i]++;
    histogram->count++;
    histogram->sum_us += took_us;
}

void http_tally_add(struct http_tally *tally, unsigned op, int status, int64_t took_ns)
{
    assert(op < HTTP_OPS_MAX && status >= HTTP_STATUS_FIRST &&
           status < HTTP_STATUS_FIRST + HTTP_STATUS_COUNT);
    tally->count[op][status - HTTP_STATUS_FIRST]++;
    http_histogram_add(&tally->took[op], took_ns);
}
