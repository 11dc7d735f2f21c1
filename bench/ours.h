/* SPDX-License-Identifier: BSD-2-Clause */
/* The library under measurement, in the three ways a program may use it. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <stdint.h>

#include "measure.h"
#include "redlock.h"
#include "servers.h"

#define OURS_THREADS_MAX 256

/* The library's words about a failure, on stderr. Returns -1. */
int ours_complain(const char *what, int error);

/* Opens a client, waits until every node is connected and tries one lock. NULL with a message on
 * stderr: a benchmark of nodes that do not vote would measure nothing. */
redlock *ours_open(const struct servers *servers, uint32_t flags);

/* Hears out the nodes that were not needed for the last majorities. */
void ours_settle(redlock *client, const struct window *window);

/*
 * One thread, in_flight cycles going at once, driven by redlock_process(); the flags are those
 * of the requests. 0 or -1.
 */
int ours_run_async(redlock *client, unsigned in_flight, uint32_t flags, struct window *window);

/* One caller of redlock_acquire() and redlock_release(). 0 or -1. */
int ours_run_blocking(redlock *client, struct window *window);

/* Many threads calling the same on one client that has its I/O thread. 0 or -1. */
int ours_run_threads(redlock *client, unsigned threads, struct window *window);

#endif
