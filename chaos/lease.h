/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hold by HTTP: what a client in any language does with redlockd. It believes in nothing but after_ms and
 * valid_ms, counted from the moment at which it began to send, and its fence. An answer that does not
 * come, or that says `yours` or `superseded`, costs one DELETE and a new lease id.
 */
#ifndef REDLOCK_CHAOS_LEASE_H
#define REDLOCK_CHAOS_LEASE_H

#include "hold.h"

enum { LEASE_ANSWER_MAX = 8192 };

/* As hold_take(), hold_stay() and hold_end(). */
bool lease_take(struct crew *c, struct hold *h);
void lease_stay(struct crew *c, struct hold *h);
void lease_end(struct crew *c, struct hold *h);

/* GET on the unix socket at `socket`; the status, 0: no answer. */
int lease_get(const char *socket, const char *path, int64_t timeout_ms, char *answer);

#endif
