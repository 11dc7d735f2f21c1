/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of the rig from beginning to end. */
#ifndef REDLOCK_CHAOS_RUN_H
#define REDLOCK_CHAOS_RUN_H

#include "checker.h"
#include "schedule.h"

enum {
    GROUP_TTL_MS = 3000, /* max_ttl on a Sentinel group, if nothing else is said */
    GROUP_SKEW_MS = 600, /* tokens rest on clocks that differ by less than max_ttl */
};

/* Of the schedule seed, regime and the like are given; the verdict is the caller's to judge. */
void chaos_run(struct schedule terms, int64_t seconds, struct verdict *verdict);

/* CHAOS_SEED, or a fresh one. */
uint64_t chaos_seed(void);

#endif
