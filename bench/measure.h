/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every variant of the benchmark is measured with: one clock, one histogram, one kind
 * of measuring window, one way to name locks. Sharing them keeps the comparison fair.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdatomic.h>
#include <stdint.h>

#include "latency.h"
#include "servers.h"

#define BENCH_TTL_MS 10000 /* of every lock, ours and the floor's */
#define BENCH_PREFIX "redlock:"

int64_t now_ns(void);

/* ---- names ---- */

#define NAME_LENGTH 26 /* "bench-PPPPPPPP-CCCC-SSSSSS": process, caller, serial number */

/* The lock names of one caller: as long as each other, distinct from every other caller's. */
struct name {
    char text[NAME_LENGTH + 1];
};

void name_first(struct name *name, unsigned caller);
void name_next(struct name *name);

/* ---- one measurement ---- */

/* What one round of one variant gave. */
struct sample {
    double seconds;
    uint64_t cycles;        /* complete: acquired and released, each by a majority */
    uint64_t failures;      /* cycles that ended otherwise */
    double client_cpu_s;    /* this process, all threads */
    double servers_cpu_s;   /* all nodes; negative: unknown, they are not on this machine */
    struct latency acquire; /* from the call to the deciding reply */
};

enum window_state {
    WINDOW_WARMING,   /* work, count nothing */
    WINDOW_MEASURING, /* work and count */
    WINDOW_OVER,      /* finish what is in flight, start nothing */
};

/*
 * The window in which a variant is measured. The one thread that drives the variant calls
 * window_tick(); any number of others may read the state.
 */
struct window {
    atomic_int state; /* enum window_state */
    int64_t warm_until_ns;
    int64_t end_ns;
    double seconds;
    int64_t start_ns;
    double client_cpu_start_s;
    double servers_cpu_start_s;
    const struct servers *servers;
    struct sample *sample;
};

void window_open(struct window *window, const struct servers *servers, double seconds,
                 struct sample *sample);
enum window_state window_tick(struct window *window);
enum window_state window_state(const struct window *window);

#endif
