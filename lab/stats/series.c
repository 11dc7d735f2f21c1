/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/stats/series.h"

#include <stdlib.h>

#define FIRST_ROOM 16

void series_add(struct series *series, double value)
{
    if (series->count == series->room) {
        series->room = series->room ? 2 * series->room : FIRST_ROOM;
        series->value = realloc(series->value, series->room * sizeof *series->value);
        if (!series->value)
            abort();
    }
    series->value[series->count++] = value;
}

void series_free(struct series *series)
{
    free(series->value);
    *series = (struct series){0};
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct series sorted(const struct series *series)
{
    struct series copy = {0};
    for (unsigned i = 0; i < series->count; i++)
        series_add(&copy, series->value[i]);
    if (copy.count > 0)
        qsort(copy.value, copy.count, sizeof *copy.value, ascending);
    return copy;
}

double series_median(const struct series *series)
{
    struct series s = sorted(series);
    double middle = 0;
    if (s.count > 0)
        middle = (s.value[(s.count - 1) / 2] + s.value[s.count / 2]) / 2;
    series_free(&s);
    return middle;
}

static size_t index_of(size_t count, double quantile)
{
    size_t index = (size_t)(quantile * (double)count);
    return index < count ? index : count - 1;
}

double series_quantile(const struct series *series, double quantile)
{
    struct series s = sorted(series);
    double value = s.count ? s.value[index_of(s.count, quantile)] : 0;
    series_free(&s);
    return value;
}

double series_spread_percent(const struct series *series)
{
    struct series s = sorted(series);
    double middle = series_median(series), percent = 0;
    if (s.count > 1 && middle != 0)
        percent = 100 * (s.value[s.count - 1] - s.value[0]) / middle;
    series_free(&s);
    return percent;
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

static int smaller(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int64_t quantile_of(int64_t *values, size_t count, double quantile)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, smaller);
    return values[index_of(count, quantile)];
}
