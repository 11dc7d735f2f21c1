/* SPDX-License-Identifier: BSD-2-Clause */
/* From settings to an open client, and what every subcommand does with one. */
#ifndef CLI_OPEN_CLIENT_H
#define CLI_OPEN_CLIENT_H

#include <redlock.h>

#include "settings/settings.h"

/* Opens a client without a thread. Returns 0 or an exit status, after saying what is wrong. */
int client_open(struct settings *s, redlock **out);

/*
 * The same for one node alone, with the settings of the others; what is doubtful of it is not
 * told.
 */
int client_open_node(struct settings *s, const char *node, redlock **out);

/* As redlock_next(), but for warnings, which it tells the user as the settings allow. */
int client_next(const struct settings *s, redlock *client, const redlock_event **event,
                int timeout_ms);

/* Tells what is left to warn of, and closes it. NULL is fine. */
void client_close(const struct settings *s, redlock *client);

/*
 * Copies what the nodes did, in whichever way a blocking call ended, and frees its answer.
 * Returns `error`. No node was asked: node_count is 0.
 */
int client_report(redlock_report *out, int error, redlock_answer *answer);

/* redlock_ping() with the report of either outcome. */
int client_ping(redlock *client, redlock_report *out);

/* Says what the library's last call of this thread, which failed with `error`, said about it.
 * Returns the exit status. */
int client_fail(int error);

#endif
