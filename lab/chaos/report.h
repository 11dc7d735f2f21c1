/* SPDX-License-Identifier: BSD-2-Clause */
/* What the checker found, for people: lines, and a picture. */
#ifndef REDLOCK_CHAOS_REPORT_H
#define REDLOCK_CHAOS_REPORT_H

#include "checker.h"
#include "replicas.h"
#include "turns.h"

/* What the run was, for the heading. */
struct report_about {
    const struct schedule *schedule;
    int64_t seconds;
    int64_t late_ms;
    const char *network;                      /* one clause */
    const struct balancer_switches *balancer; /* NULL: workers use the library */
    struct turns *turns;                      /* NULL: there are no sentinels */
};

const char *regime_text(int regime);

/* Figures, one per line. */
void report_print(FILE *out, const struct verdict *v, const struct report_about *about);

/* report.txt, timeline.svg and history.txt in `dir`. False when they cannot be written. */
bool report_write(const char *dir, struct history *h, const struct verdict *v,
                  const struct report_about *about);

/*
 * The run as one picture: faults per node and worker, holders per name, what went wrong. Of a
 * sorted history. False when the file cannot be written.
 */
bool timeline_write(const char *path, const struct history *h, const struct verdict *v,
                    const char *title);

#endif
