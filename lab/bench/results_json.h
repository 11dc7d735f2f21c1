/* SPDX-License-Identifier: BSD-2-Clause */
/* The results for programs, in one file. */
#ifndef BENCH_RESULTS_JSON_H
#define BENCH_RESULTS_JSON_H

#include "results.h"

/* 0 or -1, with a message. */
int results_json_write(const struct results *results, const char *path);

#endif
