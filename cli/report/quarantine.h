/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes that may not vote: which, why, for how long, and what can be done about it. */
#ifndef CLI_QUARANTINE_H
#define CLI_QUARANTINE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/advice.h"

/*
 * Marks the nodes that are in quarantine, also those that were not waited for. True when they
 * keep a majority from voting; *wait_ms is then for how long, -1: not by waiting alone.
 */
bool quarantine_blocks(redlock *client, redlock_report *report, int64_t *wait_ms);

/* For how long, and the ways out. */
void quarantine_advice(const redlock_report *report, int64_t wait_ms, char advice[ADVICE_MAX]);

#endif
