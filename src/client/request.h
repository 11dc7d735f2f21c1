/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what an acquire is asked for. */
#ifndef RL_CLIENT_REQUEST_H
#define RL_CLIENT_REQUEST_H

#include "drive/handles.h"

int rl_request_read(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *given, redlock_request *out, struct rl_names *names);
int rl_names_read(const redlock *client, const char *name, redlock_request *r,
                  struct rl_names *out);

/* Do the prefix and this name make a key of those that stand beside locks? */
bool rl_is_reserved(const redlock *client, const char *name, size_t length);
/* *length 0: the name is a C string; it becomes its length. */
int rl_name_check(const redlock *client, const char *name, size_t *length);
int rl_ttl_check(const redlock *client, int64_t ttl_ms);

#endif
