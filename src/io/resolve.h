/* SPDX-License-Identifier: BSD-2-Clause */
/* Name resolution off the I/O path: a slow name server never delays a lock. */
#ifndef RL_IO_RESOLVE_H
#define RL_IO_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

struct rl_resolve;

/*
 * Starts to look up host and port for a stream connection. An IP address is done at once, a
 * name is an errand (errand.h) that wakes by wake_fd. 0 and *out, the caller's, to be freed; or
 * -1 with errno and *out untouched.
 */
int rl_resolve_start(const char *host, const char *port, int wake_fd, struct rl_resolve **out);

/*
 * 0 pending; 1 done: *list is valid until rl_resolve_free(); -1 failed: *error is a text,
 * valid as long. What does not apply is untouched.
 */
int rl_resolve_poll(struct rl_resolve *r, const struct addrinfo **list, const char **error);

/* After -1: may another lookup succeed? A name that is not known stays so. */
bool rl_resolve_may_pass(const struct rl_resolve *r);

/* rl_errand_leave(). NULL is fine. */
void rl_resolve_free(struct rl_resolve *r);

#endif
