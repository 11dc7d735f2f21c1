/* SPDX-License-Identifier: BSD-2-Clause */
/* What it is worth to release without a script, where the server has a command for it. */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* 0 or -1, with a message. Where no server has such a command, the row says so. */
int native_measure(const struct options *options, const struct servers *servers,
                   struct results *results);

#endif
