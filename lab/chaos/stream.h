/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hold by a stream of redlockd: PUT with `Accept: text/event-stream` straight to the socket
 * of one replica, which renews the lock while the stream is open. The worker believes in the
 * last deadline that an event told, and in nothing once the stream has ended, unless it was
 * told `reconnect`: then it comes back to any replica with the grant of that event before the
 * deadline. It ends its hold by closing, which releases; after a return, which a close only
 * leaves, by DELETE.
 */
#ifndef REDLOCK_CHAOS_STREAM_H
#define REDLOCK_CHAOS_STREAM_H

#include "lease.h"

/* Asks once. */
enum outcome stream_try(struct crew *c, struct hold *h, int64_t wait_ms);

/* Takes into account what comes within wait_ms, or comes back. */
void stream_look(struct crew *c, struct hold *h, int64_t wait_ms);

/* True: that ends the hold. */
bool stream_close(struct hold *h);

#endif
