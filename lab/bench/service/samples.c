/* SPDX-License-Identifier: BSD-2-Clause */
#include "samples.h"

#include <err.h>
#include <stdlib.h>

#define FIRST_ROOM 256

void samples_add(struct samples *samples, double value)
{
    if (samples->count == samples->room) {
        samples->room = samples->room ? 2 * samples->room : FIRST_ROOM;
        samples->at = realloc(samples->at, samples->room * sizeof *samples->at);
        if (!samples->at)
            err(1, "samples");
    }
    samples->at[samples->count++] = value;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

double samples_quantile(struct samples *samples, double quantile)
{
    size_t index = (size_t)(quantile * (double)samples->count);

    if (samples->count == 0)
        return 0;
    qsort(samples->at, samples->count, sizeof *samples->at, by_size);
    return samples->at[index < samples->count ? index : samples->count - 1];
}

double samples_median(struct samples *samples)
{
    return samples_quantile(samples, 0.5);
}

void samples_clear(struct samples *samples)
{
    samples->count = 0;
}

void samples_free(struct samples *samples)
{
    free(samples->at);
    *samples = (struct samples){0};
}
