/* SPDX-License-Identifier: BSD-2-Clause */
/* Cycles of acquire and release on distinct names: every api next to the floor. */
#ifndef BENCH_CYCLES_H
#define BENCH_CYCLES_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* 0 or -1, with a message. */
int cycles_measure(const struct options *options, const struct servers *servers,
                   struct results *results);

#endif
