/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One figure, measured once per round: its median, and how far the rounds lie apart. And the
 * same of any values in an array. For as many values as come see struct latency of
 * cli/bench/latency.h.
 */
#ifndef LAB_STATS_SERIES_H
#define LAB_STATS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define ROUNDS_MAX 100

/* Copies share the values: one of them may be freed. */
struct series {
    double *value;
    unsigned count, room;
};

/* Ends the process without memory, as do those that return a series. */
void series_add(struct series *series, double value);
void series_free(struct series *series);

/* 0 of an empty series. */
double series_median(const struct series *series);

/* 0.25: a quarter of the values is below. */
double series_quantile(const struct series *series, double quantile);

/* From the least to the largest, in percent of the median; 0 of fewer than two values. */
double series_spread_percent(const struct series *series);

/* Round by round, one and the other. */
struct series series_sum(const struct series *one, const struct series *other);

/*
 * Round by round, one over the other: the two runs of a round stood next to each other in time,
 * so what the machine did besides is in both. A round without a divisor is left out.
 */
struct series series_ratio(const struct series *over, const struct series *under);

/* Sorts the values; the one with that share of them below it. 0 of none. */
int64_t quantile_of(int64_t *values, size_t count, double quantile);

#endif
