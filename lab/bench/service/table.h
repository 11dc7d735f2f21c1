/* SPDX-License-Identifier: BSD-2-Clause */
/* One row per figure: what it is, how much, the goal, and whether it is met. */
#ifndef REDLOCK_BENCH_SERVICE_TABLE_H
#define REDLOCK_BENCH_SERVICE_TABLE_H

#include <stdbool.h>

void table_begin(int rounds);
/* A figure without a goal of its own: a floor, or what a ratio is made of. */
__attribute__((format(printf, 2, 3))) void table_note(const char *what, const char *format,
                                                      ...);
/* value <= goal, or >= goal where more is better. */
void table_most(const char *what, double value, double goal, const char *unit);
void table_least(const char *what, double value, double goal, const char *unit);
void table_left_out(const char *what, const char *why);
/* 0 when every goal was met, else 1. */
int table_end(void);

#endif
