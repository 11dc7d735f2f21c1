/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The load that `redlock bench` puts on the nodes: callers that ask for a lock, hold it, release
 * it and begin again, all of them in one thread.
 *
 * Without a rate, each begins again as soon as it can. With one, the moments at which locks are
 * to be asked for are fixed before the start; a free caller takes the next of them, and its time
 * counts from that moment even if it had to be late.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "bench/bench.h"

struct progress;

struct load {
    const struct bench_plan *plan;
    struct bench_result *result;
    struct progress *progress;
    redlock **client; /* plan->clients of them */
    int signal_fd;
};

/* Runs until the plan, or a signal, ends it; everything acquired is released then. Returns 0 or
 * an exit status, after saying why. */
int load_run(const struct load *load);

#endif
