/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock held through a service: PUT, POST before it runs out, DELETE. A thread of its own
 * asks, since a service that hangs must not keep this process from ending its command in time;
 * the deadline is there for every thread to read.
 *
 *     WAITING --granted--> HELD --410, or the deadline has passed--> LOST
 *        '--refused, or the wait is over--> FAILED
 *     every state --service_lease_end()--> ENDED, once the lease is deleted
 *
 * The deadline is counted from before the request was sent, by the clock that counts suspend.
 * Only a 200 moves it: an answer that does not come, a 503 or one of a proxy leaves the
 * deadline that is known. An acquisition whose outcome is not known (409, no answer, an answer
 * of a proxy) is deleted and made anew with a new lease id.
 */
#ifndef CLI_SERVICE_LEASE_H
#define CLI_SERVICE_LEASE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "service/ask.h"

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
    bool jeopardy;       /* the last renewal failed */
    char detail[SERVICE_DETAIL_MAX]; /* the words for that */
    redlock_report
        report; /* FAILED: what the nodes said, and the holder, as far as it was told */
};

struct service_lease;

/* Begins to acquire. The terms and the service must outlive it. NULL with errno. */
struct service_lease *service_lease_start(const struct service *s,
                                          const struct service_terms *terms);

/* Becomes readable when the state has changed. */
int service_lease_fd(const struct service_lease *l);

/* The state; the descriptor is no longer readable. */
void service_lease_look(struct service_lease *l, struct service_state *out);
int64_t service_lease_deadline_ns(struct service_lease *l);

/* Ends the wait, or gives the lock back; the descriptor tells when that is done. */
void service_lease_end(struct service_lease *l);

/* Waits for the thread, which is asked to end. NULL is fine. */
void service_lease_free(struct service_lease *l);

#endif
