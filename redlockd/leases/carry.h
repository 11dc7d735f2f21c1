/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the rules of a lease (leases/lease.h) and what they are about: events come in,
 * actions go out. */
#ifndef REDLOCKD_LEASES_CARRY_H
#define REDLOCKD_LEASES_CARRY_H

#include <stddef.h>

#include "leases/leases.h"

/* A request that comes while another of its id waits or streams here. */
struct lease_newer {
    const struct routed *routed;
    bool is_settled; /* it was answered, or has taken the wait over */
};

/* What an event comes with, beside what the rules need; each may be NULL. */
struct lease_cause {
    const char *detail;           /* of its error */
    const char *value;            /* RELEASED by the tag: what was deleted */
    const redlock_report *report; /* RELEASED */
    struct lease_newer *newer;    /* REPEATED */
};

/* Whose lease this is. */
static inline struct lease_request *lease_request_of(struct lease *lease)
{
    return (struct lease_request *)(void *)((char *)lease -
                                            offsetof(struct lease_request, lease));
}

/* A request by these terms, which has begun nothing yet. NULL: out of memory, answered. */
struct lease_request *lease_request_new(struct leases *leases, const struct routed *routed,
                                        const struct lease_terms *terms);

/* This has happened: a step, and its actions. The request may be freed by it. */
void lease_happened(struct lease_request *request, const struct lease_event *event,
                    const struct lease_cause *cause);
/* The same for an event of the library about its lock, or of a release by its tag. */
void lease_on_event(const redlock_event *event);

/* Of one or of all requests: a TICK or a DRAIN. */
void lease_tick(struct lease_request *request, enum lease_event_type type);

/* Frees the handle, too: a waiting one is canceled, and what is held stays on the nodes. */
void lease_request_free(struct lease_request *request);

/* The exchange, which gets an answer now, and which leaves the request; NULL:
 * gone. */
struct http_exchange *lease_take_exchange(struct lease_request *request);

#endif
