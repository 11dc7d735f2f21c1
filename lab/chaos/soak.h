/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A soak: rounds of the fault rig, one after the other with the same processes, for an hour or
 * days. Each round has its own schedule, and its history is checked and thrown away when it
 * ends. What the processes keep and cost is sampled and judged from outside (soak.py).
 */
#ifndef REDLOCK_CHAOS_SOAK_H
#define REDLOCK_CHAOS_SOAK_H

#include "checker.h"
#include "rig.h"

/* What all rounds came to. */
struct soak {
    int64_t seconds;    /* all in all */
    int rounds;         /* so far */
    struct verdict sum; /* without notes; of times the worst round's */
    size_t cores;       /* files that a crash left */
};

/* `dir` gets the report of each round in which a promise was broken. */
void soak_run(struct rig *rig, const char *dir, struct soak *s);

bool soak_is_good(const struct soak *s);

#endif
