/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of one kind, to be sorted and asked for a quantile. */
#ifndef REDLOCK_BENCH_SERVICE_SAMPLES_H
#define REDLOCK_BENCH_SERVICE_SAMPLES_H

#include <stddef.h>

struct samples {
    double *at;
    size_t count, room;
};

/* Ends the process without memory. */
void samples_add(struct samples *samples, double value);
/* 0.5 is the median. Sorts. 0 without any. */
double samples_quantile(struct samples *samples, double quantile);
double samples_median(struct samples *samples);
void samples_clear(struct samples *samples);
void samples_free(struct samples *samples);

#endif
