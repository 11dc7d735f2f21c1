/* SPDX-License-Identifier: BSD-2-Clause */
/* How long an acquire takes while one of the nodes hangs, against the same with all of them. */
#ifndef BENCH_HUNG_H
#define BENCH_HUNG_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* 0 or -1, with a message. */
int hung_measure(const struct options *options, const struct servers *servers,
                 struct results *results);

#endif
