/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles for locks that other processes acquired. */
#ifndef RL_CLIENT_ADOPT_H
#define RL_CLIENT_ADOPT_H

#include "redlock.h"

/* request: NULL if nothing but the value is known. */
int rl_client_adopt(redlock *client, const char *name, const char *value,
                    const redlock_request *request, redlock_lock **out);

#endif
