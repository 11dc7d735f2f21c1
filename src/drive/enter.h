/* SPDX-License-Identifier: BSD-2-Clause */
/* The door of every public call. */
#ifndef RL_DRIVE_ENTER_H
#define RL_DRIVE_ENTER_H

#include "redlock.h"
#include <stdbool.h>

/* May this process use the client? Without the mutex. */
int rl_client_check(const redlock *client);
bool rl_client_is_forked(const redlock *client);

/* The same, and that it is open; a call that blocks is refused in a callback. On success the mutex
 * is held. */
int rl_client_enter(redlock *client, bool blocking);
void rl_client_leave(redlock *client);

#endif
