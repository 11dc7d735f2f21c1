/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers about leases. Each status means one thing:
 *
 *     200, 201, 204  renewed, granted, released: a majority of the nodes confirmed it for this
 *                    request
 *     409            SUPERSEDED, YOURS
 *     410            not there any more
 *     423            busy, or still busy when the wait ended
 *     502, 503       the nodes refuse us; too few nodes, and the deadline that the client knows
 *                    stands
 *
 * *The deadline* is sent as two spans: after_ms, from the receipt of the request that is
 * answered to the answer, and remaining_ms, what is left then. The client adds both to the
 * moment at which it began to send. It sent before we received, so its deadline is never later
 * than ours, however long the answer travels. Both spans are counted by the client's clock,
 * which may be slower than ours: remaining_ms is less by drift_ppm of their sum and by 1 ms for
 * what was cut off.
 */
#ifndef REDLOCKD_LEASES_REPLY_H
#define REDLOCKD_LEASES_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "leases/carry.h"

/* What a 200 or 201 has. */
struct lease_hold {
    const char *name;
    const char *grant; /* its text; NULL: it is not sent */
    int64_t fence;     /* 0: none, and null is sent */
    int64_t ttl_ms;
    struct lease_deadline deadline;
    bool is_local; /* the client shares our clock: gets deadline_boottime_ns, too */
};

void lease_reply_held(struct http_body *body, struct http_exchange *exchange, int status,
                      const struct lease_hold *hold);

/*
 * The same as an event of a stream; error: what endangers it, with its detail; 0: nothing does.
 */
void lease_send_held(struct http_body *body, struct http_exchange *exchange, const char *event,
                     const struct lease_hold *hold, int error, const char *detail);

/* Here and below: a stream that has begun gets the event `lost` with the status, and ends. */
void lease_reply_refusal(struct http_exchange *exchange, enum lease_answer what);
/* The same for a request that does not get as far as the rules of leases. */
void lease_reply_invalid(struct http_exchange *exchange, const struct lease_refusal *refusal);

/*
 * An error of the library about the acquisition, renewal or release of its name, unless the
 * client is gone; what each node replied is for clients that have a right to it
 * (access_sees_nodes()). Frees nothing.
 */
void lease_reply_error(struct lease_request *request, int error, const char *detail);

/* The nodes confirmed it, and no time is left: reported as NOQUORUM. */
extern const char lease_too_late[];

/* What is sent of an error: the library's detail, or words that name no node. Of a request
 * that makes no sense the former has the reason, without nodes. */
const char *lease_detail(int error, const char *detail, bool sees_nodes);

#endif
