/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what a call is asked for, each mistake with its own complaint. */
#ifndef RL_CLIENT_REQUEST_H
#define RL_CLIENT_REQUEST_H

#include "drive/handles.h"

/* Structs that callers fill, and structs that are filled for them. */
int rl_struct_read(const char *what, const void *given, size_t given_size, void *out,
                   size_t known_size);
int rl_struct_fill(const char *what, void *out, const void *known, size_t known_size);

int rl_request_read(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *given, redlock_request *out, struct rl_names *names);
/* What redlock_adopt() is told. */
int rl_adoption_read(redlock *client, const char *name, const redlock_request *given,
                     redlock_request *out, struct rl_names *names);
/* Does anything drive the client, so that REDLOCK_RENEW renews? */
int rl_renewal_check(redlock *client);
int rl_names_read(const redlock *client, const char *name, const redlock_request *r,
                  struct rl_names *out);

/* Do the prefix and this name make a key of those that stand beside locks? */
bool rl_is_reserved(const redlock *client, const char *name, size_t length);
int rl_name_check(const redlock *client, const char *name, size_t *length);
int rl_tag_check(const char *tag);
int rl_ttl_check(const redlock *client, int64_t ttl_ms);

#endif
