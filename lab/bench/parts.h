/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a run, in the order in which they are measured; each is a file of its own. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* Adds its rows to the results. 0 or -1, with a message. */
typedef int measure_fn(const struct options *options, const struct servers *servers,
                       struct results *results);

measure_fn
    cycles_measure; /* acquire and release on distinct names, every api next to the floor */
measure_fn native_measure; /* release without a script; the row says so where no server can */
measure_fn hung_measure;   /* acquire while one node hangs, and with all of them */
measure_fn crowd_measure;  /* sixteen callers want one name: how often, and each how much? */
measure_fn launch_measure; /* `redlock run NAME -- true` against the least that a client does */
measure_fn held_measure;   /* one client renews many locks, and how late does it do so? */

#endif
