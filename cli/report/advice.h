/* SPDX-License-Identifier: BSD-2-Clause */
/* What to do next, after an operation that failed. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include <redlock.h>
#include <stdbool.h>

#define ADVICE_MAX 256

/* The usual for this enum redlock_error, of the nodes or of a redlockd that was asked; NULL: none. */
const char *advice_usual(int error, bool service);

/* Nodes that answer, but too late for their votes: which --node-timeout would do; NULL: none is
 * known to. */
const char *advice_for_late_nodes(const redlock_report *report, char out[ADVICE_MAX]);

/* What to do about too few nodes: bringing them back helps only if they are away. */
const char *advice_without_quorum(const redlock_report *report, char late[ADVICE_MAX]);

#endif
