/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A soak: rounds of the fault rig, one after the other with the same processes, for an hour or
 * days. Each round has its own schedule, and its history is checked and thrown away when it
 * ends. Memory, descriptors and CPU of every process are sampled all the while, and judged at
 * the end.
 */
#ifndef REDLOCK_CHAOS_SOAK_H
#define REDLOCK_CHAOS_SOAK_H

#include "checker.h"
#include "growth.h"
#include "rig.h"

/* What all rounds came to. */
struct soak {
    int64_t seconds; /* all in all */
    int rounds;      /* so far */
    size_t grants, by_lease, by_command, denied, lost, waits, faults;
    size_t fenced_writes, fenced_refused, plain_lost, killed, forgiven, late_kills;
    size_t machine_late;
    int64_t wait_max_ms, told_worst_ms, late_ms;
    size_t breach_count;
    size_t cores; /* files that a crash left */
    struct growths growths;
};

/* `dir` gets samples.csv, report.txt and the report of each round in which a
 * promise was broken. */
void soak_run(struct rig *rig, const char *dir, struct soak *s);

/* A line for each figure, and the verdict. */
void soak_print(FILE *out, const struct soak *s);
bool soak_is_good(const struct soak *s);

#endif
