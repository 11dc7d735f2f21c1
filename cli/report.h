/* SPDX-License-Identifier: BSD-2-Clause */
/* Node by node, what happened: as a table for people or as JSON. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <redlock.h>
#include <stdbool.h>
#include <stdio.h>

#include "settings.h"

struct json;

/* An operation that did not succeed. */
struct failure {
    const char *name;             /* of the lock; NULL: of none */
    int error;                    /* enum redlock_error */
    int status;                   /* exit status that goes with it */
    const char *text;             /* a sentence; NULL: redlock_strerror() */
    const char *advice;           /* what to do next; NULL: the usual for this error */
    const redlock_report *report; /* NULL: no node was involved */
};

/* Reports it as the settings ask for and returns its status. */
int report_failure(const struct settings *s, const struct failure *f);

void report_table(const redlock_report *report, FILE *out);

/* Did the node itself say something? Only then its round trip means anything. */
bool report_is_answer(int vote);

/*
 * Asks the nodes anew about `name` and completes a report on a lock that is held by another:
 * what is left of the other's time, and the answers that came too late to matter.
 */
void report_complete(redlock *client, const char *name, redlock_report *report);

/* The members `quorum` and `nodes` of the object being written. */
void report_json(const redlock_report *report, struct json *j);

#endif
