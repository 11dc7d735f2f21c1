/* SPDX-License-Identifier: BSD-2-Clause */
/* One way of doing cycles with so many callers, and what every round of it gave. */
#ifndef BENCH_VARIANT_H
#define BENCH_VARIANT_H

#include <stdint.h>

#include "lab/stats/series.h"
#include "measure.h"

struct row;
struct cost;

struct variant {
    struct series per_s;
    struct series p50_us; /* of acquires */
    struct series p99_us;
    struct series cycle_p50_us;
    struct series client_us; /* CPU per cycle */
    struct series servers_us;
    uint64_t cycles;
    uint64_t failures;
};

void variant_add(struct variant *variant, const struct sample *sample);

/* Cycles that failed are not counted: many of them must not go unseen. */
void variant_note_failures(struct row *row, const struct variant *variant);

struct cost variant_cost(const struct variant *variant);

/* The row's figures: cycles per second of one over those of the other, with ours' cost. */
void variant_compare(struct row *row, const struct variant *ours, const struct variant *theirs);

#endif
