/* SPDX-License-Identifier: BSD-2-Clause */
/* Node by node, what happened: as a table for people or as JSON. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <redlock.h>
#include <stdbool.h>
#include <stdio.h>

#include "settings/settings.h"

struct rl_json;
struct snapshot;

/* An operation that did not succeed. */
struct failure {
    const char *name;             /* of the lock; NULL: of none */
    int error;                    /* enum redlock_error */
    int status;                   /* exit status that goes with it; 0: the usual */
    const char *text;             /* a sentence; NULL: redlock_strerror() */
    const char *advice;           /* what to do next; NULL: the usual for this error */
    const redlock_report *report; /* NULL: no node was involved */
    const struct snapshot *lock;  /* NULL: nothing is known of what is in the way */
    bool brief; /* the sentence is enough: node by node and with advice only on -v */
};

#define REPORT_TEXT_MAX 768 /* of that sentence */

/* Reports it as the settings require and returns its status. */
int report_failure(const struct settings *s, const struct failure *f);

void report_table(const redlock_report *report, FILE *out);

/* Did the node itself reply? Only then its round trip means anything. */
bool report_is_answer(int vote);

/* The time to its answer, or that of its late answers; -1: unknown. */
int32_t report_rtt_us(const redlock_node_report *n);

/* Has any node answered like this? */
bool report_has_vote(const redlock_report *report, int32_t vote);

/* Could it still vote for a lock, as far as this answer shows? */
bool report_may_vote(int vote);

/*
 * Checks whether the nodes that an attempt did not wait for are there: their replies may be
 * what decides. True: so many refuse the login, or lack a right, that no majority is left.
 */
bool report_is_refused(redlock *client, redlock_report *report);

/* "127.0.0.1:1 timed out, 127.0.0.1:2 in quarantine": the nodes that did not do their part. */
void report_failed_nodes(const redlock_report *report, char *out, size_t size);

/*
 * Queries the nodes anew about `name` and completes a report on a lock that is held by another:
 * the holder, what is left of its time, and the answers that came too late to matter. A node
 * that only reported that our key is not there may have the key of another. As redlock_query().
 */
int report_complete(redlock *client, const char *name, redlock_report *report,
                    redlock_answer **out);

/* Have all nodes found the same? Then one line stands for all of them. */
bool report_agrees(const redlock_report *report);

/*
 * The members `quorum` and `nodes` of the object being written; `found`: of redlock_query(),
 * with what each node found, and whether it differs from most.
 */
void report_json(const redlock_report *report, struct rl_json *j, bool found);

#endif
