/* SPDX-License-Identifier: BSD-2-Clause */
/* What it costs to keep many locks: one client renews them all, and how late does it do so? */
#ifndef BENCH_HELD_H
#define BENCH_HELD_H

#include "options.h"
#include "results.h"
#include "servers.h"

#define HELD_LOCKS_MAX 1000000

/* 0 or -1, with a message. */
int held_measure(const struct options *options, const struct servers *servers,
                 struct results *results);

#endif
