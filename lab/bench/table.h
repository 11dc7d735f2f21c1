/* SPDX-License-Identifier: BSD-2-Clause */
/* The results for people: one table, and what the machine did meanwhile. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "results.h"

#define FIGURE_MAX 32

/* 43210 as "43,210"; three digits of what is small. Returns out. */
const char *figure(double value, char out[FIGURE_MAX]);

void table_print(const struct results *results);

#endif
