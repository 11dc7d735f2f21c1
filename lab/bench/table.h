/* SPDX-License-Identifier: BSD-2-Clause */
/* The results for people: one table, and what the machine did meanwhile. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "results.h"

void table_print(const struct results *results);

#endif
