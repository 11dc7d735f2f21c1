/* SPDX-License-Identifier: BSD-2-Clause */
/* One figure, measured once per round: its median, and how far the rounds lie apart. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#define ROUNDS_MAX 100

struct series {
    double value[ROUNDS_MAX];
    unsigned count;
};

void series_add(struct series *series, double value);

/* 0 of an empty series. */
double series_median(const struct series *series);

/* From the least to the largest, in percent of the median; 0 of fewer than two values. */
double series_spread_percent(const struct series *series);

/* Round by round, one and the other. */
struct series series_sum(const struct series *one, const struct series *other);

/*
 * Round by round, one over the other: the two runs of a round stood next to each other in time,
 * so what the machine did besides is in both. A round without a divisor is left out.
 */
struct series series_ratio(const struct series *over, const struct series *under);

#endif
