/* SPDX-License-Identifier: BSD-2-Clause */
/* The library under measurement, in the three ways a program may use it. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <stdint.h>

#include "measure.h"
#include "redlock.h"
#include "servers.h"

/* The library's words about a failure, on stderr. Returns -1. */
int ours_complain(const char *what, int error);

/* Opens a client, waits until every node is connected and tries one lock. NULL with a message
 * on stderr: a benchmark of nodes that do not vote would measure nothing. */
redlock *ours_open(const struct servers *servers, uint32_t flags);

/* Reads the replies of the nodes that were not needed for the last majorities. */
void ours_settle(redlock *client, const struct window *window);

/* What every caller asks for, again and again. */
struct ours_terms {
    uint32_t flags;   /* of the requests */
    const char *name; /* that all callers want; NULL: distinct names */
    int64_t wait_ms;
    uint64_t *turns; /* cycles of each caller while measuring; NULL: not wanted */
};

/* One thread, in_flight cycles going at once, driven by redlock_next(). 0 or -1. */
int ours_run_async(redlock *client, unsigned in_flight, const struct ours_terms *terms,
                   struct window *window);

/* One caller of redlock_acquire() and redlock_release(), on distinct names. 0 or -1. */
int ours_run_blocking(redlock *client, struct window *window);

/* Many threads calling the same; they take the clients in turn. 0 or -1. */
int ours_run_threads(redlock *const *clients, unsigned client_count, unsigned threads,
                     const struct ours_terms *terms, struct window *window);

#endif
