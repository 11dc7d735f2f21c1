/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls about one lock: acquire, extend, release, cancel. The last three are public and need no
 * prototype here: a handle knows its client.
 */
#ifndef RL_CLIENT_LOCK_H
#define RL_CLIENT_LOCK_H

#include "redlock.h"

int rl_client_acquire(redlock *client, const char *name, int64_t ttl_ms,
                      const redlock_request *request, redlock_lock **out);
int rl_client_start(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out);

#endif
