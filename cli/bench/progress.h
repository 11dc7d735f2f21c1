/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that a terminal shows while `redlock bench` measures. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

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
