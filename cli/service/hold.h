/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock held through a service, by a stream of events: PUT, which the service keeps and renews
 * by, and DELETE at the end. Nothing here waits for the service but service_hold_end(), for at
 * most SERVICE_END_MS: the process that must end a command in time turns this beside its other
 * work, and knows the deadline without an answer.
 *
 *     WAITING --granted--> HELD --410, or the deadline has passed--> LOST
 *        '--refused, or the wait is over--> FAILED
 *
 * **The deadline** is counted from before the request was sent, by the clock that counts
 * suspend. Each that was received stands, the latest counts, and nothing but a 410 ends belief
 * before it: neither silence nor another refusal means that the lock is gone. Nothing but a new
 * deadline prolongs it.
 *
 * **The stream is left on close** (`leave`, which TCP has anyway): killed before its command is
 * gone, this process frees nothing. So its grant is known from `granted` on, and a stream that
 * ends in any way, by `reconnect`, cut, or by a service that was killed, is no end of the lock:
 * nothing that deletes it was begun. It comes back with the grant, through whatever replica
 * answers, again and again until the deadline. A resumption extends exactly the value of the
 * grant, so it is as safe through a late copy or beside the stream before it. The fence is that
 * of the first `granted`.
 *
 * **Silence.** The service renews at a third of the TTL. When nothing has come a twelfth later,
 * not even that a renewal failed, the stream may be on a connection that is dead, or of a
 * replica that hangs: it is given up, and comes back through another connection.
 *
 * An acquisition whose outcome is not known (409, no answer, an answer of a proxy) is deleted
 * and made anew with a new lease id.
 */
#ifndef CLI_SERVICE_HOLD_H
#define CLI_SERVICE_HOLD_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "service/call.h"

#define SERVICE_END_TRIES 2 /* of a DELETE whose outcome is not known */
#define SERVICE_END_TRY_MS 1000
#define SERVICE_END_MS (SERVICE_END_TRIES * SERVICE_END_TRY_MS)

enum service_phase {
    SERVICE_WAITING,
    SERVICE_HELD,
    SERVICE_FAILED, /* it was not granted: error */
    SERVICE_LOST,
    SERVICE_ENDED,
};

struct service_terms {
    const char *name;
    int64_t ttl_ms;
    int64_t wait_ms;  /* or REDLOCK_WAIT_FOREVER */
    const char *kind; /* as redlock_kind_text() */
    bool fenced, fair;
    uint32_t slots;
    const char *owner; /* NULL: none */
    const char *label;
};

/* What is known of it now. */
struct service_state {
    enum service_phase phase;
    int64_t deadline_ns; /* as timer_now_ns(); 0: it was never held */
    int64_t fence;       /* 0: none */
    int error;           /* enum redlock_error of what went wrong last; OK: nothing is */
    bool jeopardy;       /* HELD: a renewal failed, or none has come when it was due */
    char detail[SERVICE_DETAIL_MAX]; /* the words for that */
    redlock_report
        report; /* FAILED: what the nodes replied, and the holder, as far as it is known */
};

struct service_hold;

/* Begins to acquire. The terms and the service must outlive it. NULL with errno. */
struct service_hold *service_hold_start(const struct service *s,
                                        const struct service_terms *terms);

/* Readable when a turn has something to do. */
int service_hold_fd(const struct service_hold *h);

/* Does what is due, and returns what is known then. */
const struct service_state *service_hold_turn(struct service_hold *h);

/* The same without a turn. */
const struct service_state *service_hold_look(const struct service_hold *h);

/* The lease id of what is held. */
const char *service_hold_lease(const struct service_hold *h);

/* Gives the lock back, or ends the wait. Returns the outcome; a failure has a detail. */
int service_hold_end(struct service_hold *h);

/* Ends what has not ended. NULL is fine. */
void service_hold_free(struct service_hold *h);

#endif
