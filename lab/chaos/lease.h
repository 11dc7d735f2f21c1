/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hold by HTTP: what a client in any language does with redlockd. It believes in nothing but
 * after_ms and remaining_ms, counted from the moment at which it began to send, and its fence.
 * An answer that does not come, or that says `YOURS` or `SUPERSEDED`, costs one DELETE and a
 * new lease id.
 */
#ifndef REDLOCK_CHAOS_LEASE_H
#define REDLOCK_CHAOS_LEASE_H

#include "hold.h"

enum {
    LEASE_ANSWER_MAX = 8192,
    ANSWER_MS = 1500, /* how long beyond its wait a request may take */
};

/* What a request for a lock has come to. */
enum outcome { GRANTED, REFUSED, UNKNOWN };

/* As hold_take(), hold_stay() and hold_end(), with a stream or without. */
bool lease_take(struct crew *c, struct hold *h);
void lease_stay(struct crew *c, struct hold *h);
void lease_end(struct crew *c, struct hold *h);

void lease_choose_id(struct hold *h);
/* The body of a PUT, and a whole request with further `fields`. */
void lease_write_terms(const struct crew *c, const struct hold *h, int64_t wait_ms, char *out,
                       size_t size);
void lease_write_request(const struct hold *h, const char *method, const char *fields,
                         const char *body, char *out, size_t size);
/* The number or text behind a key; empty: there is none. */
const char *lease_member(const char *answer, const char *key);
/* Until when the client may act: from when it began to send, never from the answer. */
void lease_believe(struct crew *c, struct hold *h, int64_t began_ns, const char *answer);

/* GET on the unix socket at `socket`; the status, 0: no answer. */
int lease_get(const char *socket, const char *path, int64_t timeout_ms, char *answer);

/*
 * A hold by a stream of redlockd: PUT with `Accept: text/event-stream` straight to the socket
 * of one replica, which renews the lock while the stream is open. The worker believes in the
 * last deadline that an event had, and in nothing once the stream has ended, unless it was
 * sent `reconnect`: then it comes back to any replica with the grant of that event before the
 * deadline. It ends its hold by closing, which releases; after a return, which a close only
 * leaves, by DELETE.
 */

/* Asks once. */
enum outcome stream_try(struct crew *c, struct hold *h, int64_t wait_ms);

/* Takes into account what comes within wait_ms, or comes back. */
void stream_look(struct crew *c, struct hold *h, int64_t wait_ms);

/* True: that ends the hold. */
bool stream_close(struct hold *h);

#endif
