/* SPDX-License-Identifier: BSD-2-Clause */
#include "series.h"

#include <stdlib.h>

void series_add(struct series *series, double value)
{
    if (series->count < ROUNDS_MAX)
        series->value[series->count++] = value;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct series sorted(const struct series *series)
{
    struct series copy = *series;
    qsort(copy.value, copy.count, sizeof *copy.value, ascending);
    return copy;
}

double series_median(const struct series *series)
{
    struct series s = sorted(series);
    if (s.count == 0)
        return 0;
    return s.count % 2 ? s.value[s.count / 2]
                       : (s.value[s.count / 2 - 1] + s.value[s.count / 2]) / 2;
}

double series_spread_percent(const struct series *series)
{
    struct series s = sorted(series);
    double middle = series_median(series);
    if (s.count < 2 || middle == 0)
        return 0;
    return 100 * (s.value[s.count - 1] - s.value[0]) / middle;
}

struct series series_sum(const struct series *one, const struct series *other)
{
    struct series sum = {.count = 0};
    for (unsigned i = 0; i < one->count && i < other->count; i++)
        series_add(&sum, one->value[i] + other->value[i]);
    return sum;
}

struct series series_ratio(const struct series *over, const struct series *under)
{
    struct series ratio = {.count = 0};
    for (unsigned i = 0; i < over->count && i < under->count; i++)
        if (under->value[i] > 0)
            series_add(&ratio, over->value[i] / under->value[i]);
    return ratio;
}
