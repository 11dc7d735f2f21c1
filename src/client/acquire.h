/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that acquire a lock. */
#ifndef RL_CLIENT_ACQUIRE_H
#define RL_CLIENT_ACQUIRE_H

#include "redlock.h"

int rl_client_acquire(redlock *client, const char *name, int64_t ttl_ms,
                      const redlock_request *request, redlock_lock **out);
int rl_client_start(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out);

#endif
