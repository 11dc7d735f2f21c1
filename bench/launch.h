/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock run NAME -- true`, from start to end, against the least that a client program does. */
#ifndef BENCH_LAUNCH_H
#define BENCH_LAUNCH_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* 0 or -1, with a message. */
int launch_measure(const struct options *options, const struct servers *servers,
                   struct results *results);

#endif
