/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every variant of the benchmark is measured with: one clock, one histogram, one kind
 * of measuring window, one way to name locks. Sharing them keeps the comparison fair.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/latency.h"
#include "counts.h"
#include "servers.h"

#define BENCH_TTL_MS 10000 /* of every lock, ours and the floor's */
#define BENCH_PREFIX "redlock:"

int64_t now_ns(void);

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

/* ---- one measurement ---- */

/* What one round of one variant gave. */
struct sample {
    double seconds;
    uint64_t cycles;        /* complete: acquired and released, each by a majority */
    uint64_t failures;      /* cycles that ended otherwise */
    double client_cpu_s;    /* this process, all threads */
    double servers_cpu_s;   /* all nodes; negative: unknown, they are not on this machine */
    uint64_t calls;         /* system calls of this process */
    uint64_t allocations;   /* of this process */
    uint64_t switches;      /* of its threads, voluntary */
    struct latency acquire; /* from the call to the deciding reply */
    struct latency cycle;   /* from there to that of the release */
};

enum window_state {
    WINDOW_WARMING,   /* work, count nothing */
    WINDOW_MEASURING, /* work and count */
    WINDOW_OVER,      /* start nothing, finish and count what is in flight */
};

/*
 * The window in which a variant is measured. The one thread that drives the variant calls
 * window_tick(); any number of others may read the state.
 *
 * What counts is the time until every node has answered everything. Majorities do not wait for
 * the slowest nodes: on a machine with fewer cores than nodes a minority can fall behind by
 * tens of thousands of requests, and the variant that leaves most work undone would seem
 * fastest.
 */
struct window {
    atomic_int state; /* enum window_state */
    int64_t warm_until_ns;
    int64_t end_ns;
    double seconds;
    int64_t start_ns;
    double client_cpu_start_s;
    double servers_cpu_start_s;
    struct counts counts_start;
    const struct servers *servers;
    struct sample *sample;
};

/* Opens it for the next run: the warm-up is a share of the seconds. */
void window_open(struct window *window, const struct servers *servers, double seconds,
                 struct sample *sample);
enum window_state window_tick(struct window *window);

/* Leaves the warm-up out: what is measured begins now. */
void window_begin(struct window *window);

/* When the window is over and no node owes a reply any more: completes the sample. */
void window_close(struct window *window);

/* Whether what ends now is counted. */
bool window_counts(const struct window *window);

enum window_state window_state(const struct window *window);

#endif
