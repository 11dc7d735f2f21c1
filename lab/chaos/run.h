/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of the rig from beginning to end. */
#ifndef REDLOCK_CHAOS_RUN_H
#define REDLOCK_CHAOS_RUN_H

#include "checker.h"
#include "schedule.h"

enum {
    GROUP_TTL_MS = 3000,       /* max_ttl where masters are elected, if nothing else is said */
    CLUSTER_TIMEOUT_MS = 1000, /* cluster-node-timeout: soon missed, */
    LONG_TIMEOUT_MS = 16000,   /* or slow to stop when it is alone */
    GROUP_SKEW_MS = 600,       /* tokens rest on clocks that differ by less than max_ttl */
};

/* Of the schedule seed, regime and the like are given. The verdict is the caller's to judge. */
const struct verdict *chaos_run(struct schedule terms, int64_t seconds);

/* CHAOS_SEED, or a fresh one. */
uint64_t chaos_seed(void);

#endif
