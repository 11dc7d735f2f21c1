/* SPDX-License-Identifier: BSD-2-Clause */
/* Sixteen callers want one name and give it back at once: how often, and who gets how much? */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "options.h"
#include "results.h"
#include "servers.h"

/* 0 or -1, with a message. */
int crowd_measure(const struct options *options, const struct servers *servers,
                  struct results *results);

#endif
