/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers with separators and few digits, for people. */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

#define FIGURE_MAX 32

/* 43210 as "43,210"; three digits of what is small. Returns out. */
const char *figure(double value, char out[FIGURE_MAX]);

#endif
