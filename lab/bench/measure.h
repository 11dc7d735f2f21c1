/* SPDX-License-Identifier: BSD-2-Clause */
/* How a variant of the benchmark is measured: the window of its callers, and besides what they
 * cost the servers. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "lab/callers/callers.h"
#include "servers.h"

#define BENCH_TTL_MS 10000 /* of every lock, ours and the floor's */
#define BENCH_PREFIX "redlock:"

/* A window that fills in all of the sample; one at a time. */
void measure_open(struct window *window, const struct servers *servers, double seconds,
                  struct sample *sample);

/* callers_open() for these servers. */
redlock *measure_client(const struct servers *servers, uint32_t flags);

/* Runs the callers, with BENCH_TTL_MS, until their nodes owe nothing, and closes the window. */
int measure_callers(struct callers callers, struct window *window);

#endif
