/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that a run of the benchmark found out, until it is printed and written. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "bench/latency.h"
#include "lab/stats/series.h"
#include "machine.h"
#include "variant.h"

#include <stdbool.h>
#include <stdint.h>

#define ROWS_MAX 40
#define CALLERS_MAX 20
#define HELD_MAX 6

enum target_kind { TARGET_NONE, TARGET_AT_LEAST, TARGET_AT_MOST, TARGET_BELOW };

struct target {
    enum target_kind kind;
    double value;
    bool exact; /* does not depend on how busy the machine is: --check allows no margin */
};

enum verdict { VERDICT_NONE, VERDICT_MET, VERDICT_MISSED };

/* What a cycle costs besides time; negative: unknown, or it makes no sense here. */
struct cost {
    double client_us;  /* CPU of this process */
    double servers_us; /* CPU of all nodes together */
};

#define COST_UNKNOWN ((struct cost){-1, -1})

/*
 * A line of the table. The target speaks of the ratio where there is something to compare with,
 * and else of the figure itself.
 */
struct row {
    const char *id;
    const char *what;
    const char *unit;
    const char *baseline; /* what it is compared with; NULL: nothing */
    struct series ours;   /* empty: it could not be run, the note says why */
    struct series theirs;
    struct target target;
    struct cost cost;
    char note[128];
};

/* One api with so many callers, for a plot. */
struct caller_point {
    const char *api;
    unsigned callers;
    struct variant variant;
};

/* One client that held so many locks. */
struct held_point {
    unsigned locks;
    double bytes_per_lock;
    double cpu_us_per_lock_s;
    double late_p99_ms;
    int64_t ttl_ms;
    uint64_t renewals;
    uint64_t lost;
};

struct results {
    struct machine machine;
    unsigned rounds;
    double seconds; /* of each measurement */
    struct row row[ROWS_MAX];
    unsigned row_count;
    struct caller_point callers[CALLERS_MAX];
    unsigned callers_count;
    struct latency healthy; /* of acquires, one caller */
    struct latency one_hung;
    struct held_point held[HELD_MAX];
    unsigned held_count;
};

/* Adds a row without figures; never NULL: the number of rows is known when this is compiled. */
struct row *results_row(struct results *results, const char *id, const char *what,
                        const char *unit, const char *baseline);

/* The ratio's median; negative when there is nothing to compare with. */
double row_ratio(const struct row *row);

/* Of what the row is judged by: the ratio, or the figure. */
double row_spread_percent(const struct row *row);

/* Whether the target is met; with a margin (0.2 for 20 %), whether it is met nearly. */
enum verdict row_verdict(const struct row *row, double margin);

/* ">= 0.85"; "" without a target. */
void target_text(const struct target *target, char out[24]);

/* Writes all of them as JSON, without a path to standard output; 0, or -1 with a message.
 * tables.py makes a table of it. */
int results_json_write(const struct results *results, const char *path);

#endif
