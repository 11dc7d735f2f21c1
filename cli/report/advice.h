/* SPDX-License-Identifier: BSD-2-Clause */
/* What to do next, after an operation that failed. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#define ADVICE_MAX 320

/*
 * After an enum redlock_error: by what the nodes did, if there is a report (else NULL), of the
 * nodes or of a redlockd. May use `out`. NULL: there is none.
 */
const char *advice_for(int error, const redlock_report *report, bool service,
                       char out[ADVICE_MAX]);

/* Only by the reasons that the nodes have, all of them or those that answered; NULL: none. */
const char *advice_by_reason(const redlock_report *report, bool answered);

/* For a finding of an audit; may use `out`; empty: nothing has to be done. */
const char *advice_for_check(const redlock_check *check, char out[ADVICE_MAX]);

/* Nodes that answer, but too late for their votes: which --node-timeout would do; NULL: none is
 * known to. */
const char *advice_for_late_nodes(const redlock_report *report, char out[ADVICE_MAX]);

/*
 * Marks the nodes that are in quarantine, also those that were not waited for. True when they
 * keep a majority from voting; *wait_ms is then for how long, -1: not by waiting alone.
 */
bool quarantine_blocks(redlock *client, redlock_report *report, int64_t *wait_ms);

/* For how long, and the ways out. */
void quarantine_advice(const redlock_report *report, int64_t wait_ms, char advice[ADVICE_MAX]);

#endif
