/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock bench` shows: bars, ranges of latencies, and a line meanwhile. */
#ifndef BENCH_DISPLAY_H
#define BENCH_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/latency.h"

/* A bar of text: eighths of a character where the terminal has them, # elsewhere. */
#define BAR_COLUMNS_MAX 100
#define BAR_TEXT_MAX (3 * BAR_COLUMNS_MAX + 1)

/* Writes a bar that fills `share` (0 to 1) of so many columns; what is more than nothing is
 * never drawn as nothing. `pad`: with blanks behind it. Returns the columns written. */
size_t bar_write(char out[BAR_TEXT_MAX], double share, size_t columns, bool utf8, bool pad);

/* Latencies in ranges that people can read: round bounds, each a little larger
 * than the last. */
#define HISTOGRAM_RANGES_MAX 100
#define HISTOGRAM_TIME_MAX 24

struct histogram_range {
    int64_t up_to_ns; /* and not less than that of the range before */
    uint64_t count;
};

struct histogram {
    size_t count;
    struct histogram_range range[HISTOGRAM_RANGES_MAX];
};

/*
 * From the first range that is not empty to the last, ten of them for every power of ten, or
 * fewer so that there are `most` at most. The counts add up to that of `latency`.
 */
void histogram_make(struct histogram *h, const struct latency *latency, size_t most);

/* "850 ns", "213 us", "1.24 ms", "12.4 ms", "124 ms", "1.24 s" */
void histogram_time(char out[HISTOGRAM_TIME_MAX], double time_ns);

/* The line that a terminal shows while `redlock bench` measures. */
struct bench_plan;
struct bench_result;

#define PROGRESS_TICK_NS 100000000LL
#define PROGRESS_TICKS 10 /* the rate shown is that of the last second */

struct progress {
    bool on; /* standard error is a terminal, and neither -q nor --json was given */
    bool utf8;
    int64_t due_ns; /* when to draw it anew */
    unsigned ticks; /* drawn so far */
    /* Locks and times of the last ticks, in a ring. */
    uint64_t locks[PROGRESS_TICKS];
    int64_t at_ns[PROGRESS_TICKS];
};

void progress_begin(struct progress *p, bool wanted);

/* TIMER_NEVER where nothing is shown. */
int64_t progress_due_ns(const struct progress *p);

void progress_draw(struct progress *p, const struct bench_plan *plan,
                   const struct bench_result *r, int64_t elapsed_ns);

#endif
