/* SPDX-License-Identifier: BSD-2-Clause */
/* From settings to an open client, and what every subcommand does with one. */
#ifndef CLI_OPEN_CLIENT_H
#define CLI_OPEN_CLIENT_H

#include <redlock.h>

#include "settings/settings.h"

/* Opens a client without a thread. Returns 0 or an exit status, after printing why. */
int client_open(struct settings *s, redlock **out);

/*
 * The same for one node alone, with the settings of the others; what is doubtful of it is not
 * reported.
 */
int client_open_node(struct settings *s, const char *node, redlock **out);

/* As redlock_next(), but for warnings, which it prints as the settings allow. */
int client_next(const struct settings *s, redlock *client, const redlock_event **event,
                int timeout_ms);

/* Prints the warnings that are left, and closes it. NULL is fine. */
void client_close(const struct settings *s, redlock *client);

/*
 * Copies what the nodes did, in whichever way a blocking call ended, and frees its answer.
 * Returns `error`. Nothing was sent to a node: node_count is 0.
 */
int client_report(redlock_report *out, int error, redlock_answer *answer);

/* redlock_ping() with the report of either outcome. */
int client_ping(redlock *client, redlock_report *out);

/* Prints what the library's last call of this thread, which failed with `error`, reports on it.
 * Returns the exit status. */
int client_fail(int error);

#endif
