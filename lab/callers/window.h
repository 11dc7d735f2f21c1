/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time in which callers are measured, and what they did in it.
 *
 * What counts is the time until every node has answered everything. Majorities do not wait for
 * the slowest nodes: on a machine with fewer cores than nodes a minority can fall behind by
 * tens of thousands of requests, and the variant that leaves most work undone would seem
 * fastest.
 */
#ifndef LAB_CALLERS_WINDOW_H
#define LAB_CALLERS_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/latency.h"
#include "src/base/time.h"

struct sample {
    double seconds;
    uint64_t cycles;        /* complete: acquired and released, each by a majority */
    uint64_t failures;      /* cycles that ended otherwise */
    double client_cpu_s;    /* this process, all threads */
    struct latency acquire; /* from the call to the deciding reply */
    struct latency cycle;   /* from there to that of the release */
    double servers_cpu_s;   /* all nodes, where they are watched; else 0; negative: unknown */
};

enum window_state {
    WINDOW_WARMING,   /* work, count nothing */
    WINDOW_MEASURING, /* work and count */
    WINDOW_OVER,      /* start nothing, finish and count what is in flight */
};

/* The one thread that drives the callers calls window_tick(); any number of others may read
 * the state. */
struct window {
    atomic_int state; /* enum window_state */
    int64_t warm_until_ns;
    int64_t start_ns, end_ns;
    double seconds;
    double client_cpu_start_s;
    struct sample *sample;
    void (*costs)(struct window *window); /* called at begin and close; NULL: nothing */
    bool has_begun;                       /* which of the two it is */
};

int64_t now_ns(void); /* CLOCK_MONOTONIC */

/* Opens it for the next run; with a warm-up, which is a share of the seconds. */
void window_open(struct window *window, double seconds, bool warm_up, struct sample *sample);
enum window_state window_tick(struct window *window);

/* Leaves the warm-up out: what is measured begins now. */
void window_begin(struct window *window);

/* When the window is over and no node owes a reply any more: completes the sample. */
void window_close(struct window *window);

/* Whether what ends now is counted. */
bool window_counts(const struct window *window);

enum window_state window_state(const struct window *window);

/* ---- names ---- */

#define NAME_LENGTH 26 /* "bench-PPPPPPPP-CCCC-SSSSSS": process and run, caller, number */

/*
 * The lock names of one caller: as long as each other, distinct from every other caller's and
 * from those of the runs before, which a slow node may not have deleted yet.
 */
struct name {
    char text[NAME_LENGTH + 1];
    unsigned reuse; /* begins again after so many; 0: never */
    unsigned used;
};

void name_first(struct name *name, unsigned caller, unsigned reuse);
void name_next(struct name *name);

#endif
