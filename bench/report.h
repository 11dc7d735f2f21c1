/* SPDX-License-Identifier: BSD-2-Clause */
/* From the samples of all rounds to one table or one JSON object. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "measure.h"
#include "servers.h"

#define ROUNDS_MAX 100
#define VARIANTS_MAX 24

enum variant_kind { VARIANT_FLOOR, VARIANT_ASYNC, VARIANT_BLOCKING, VARIANT_THREADS };

/* One way of doing cycles, and what each round gave. */
struct variant {
    enum variant_kind kind;
    unsigned callers;            /* in flight, or threads */
    const struct variant *floor; /* to compare with; NULL: none */
    double per_s[ROUNDS_MAX];
    double p50_us[ROUNDS_MAX];
    double p99_us[ROUNDS_MAX];
    double client_us[ROUNDS_MAX];  /* CPU per cycle */
    double servers_us[ROUNDS_MAX]; /* CPU per cycle; negative: unknown */
    uint64_t cycles;
    uint64_t failures;
};

struct report {
    const struct servers *servers;
    const char *release_word;
    unsigned rounds;
    double seconds;
    struct variant *variant;
    size_t variant_count;
};

void variant_add(struct variant *variant, unsigned round, const struct sample *sample);

double median(const double *values, unsigned count);

/*
 * Ours over the floor: the median of the rounds' own ratios, because the two runs of a round
 * stood next to each other in time. Negative without a floor to compare with.
 */
double variant_ratio(const struct variant *variant, unsigned rounds);

void report_table(const struct report *report);
void report_json(const struct report *report);

#endif
