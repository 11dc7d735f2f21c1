/* SPDX-License-Identifier: BSD-2-Clause */
/* From settings to an open client. */
#ifndef CLI_OPEN_CLIENT_H
#define CLI_OPEN_CLIENT_H

#include <redlock.h>

#include "settings/settings.h"

/* Opens a client without a thread. Returns 0 or an exit status, after saying what is wrong. */
int client_open(struct settings *s, redlock **out);

/* Says what the library's last call of this thread, which failed with `error`, said about it.
 * Returns the exit status. */
int client_fail(int error);

#endif
