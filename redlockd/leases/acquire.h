/* SPDX-License-Identifier: BSD-2-Clause */
/* PUT of a lease: from the request to its answer, or to its client's end. leases.h has the picture. */
#ifndef REDLOCKD_LEASES_ACQUIRE_H
#define REDLOCKD_LEASES_ACQUIRE_H

#include "leases/leases.h"

/* 503: the process is about to end. */
extern const struct lease_refusal lease_draining;
/* 403: rules or tokens have changed. */
extern const struct lease_refusal lease_forbidden;

/* 429: a cap or a quota of its rule. */
void lease_refuse_quota(struct leases *leases, struct http_exchange *exchange,
                        const struct rl_span *path, const struct access_who *who,
                        const char *name);

void lease_begin_acquire(struct leases *leases, struct http_exchange *exchange,
                         const struct http_request *request, const struct lease_terms *terms,
                         const struct access_who *who);

/* A majority was asked after the request came, and has said this. */
void lease_acquired(struct lease *lease, const redlock_event *event);

/* The exchange of a lease that waits or was told has ended. */
void lease_acquire_ended(struct lease *lease, enum http_ended how);

/* Releases what was granted, by its value, since no client holds it. What becomes of that is told to
 * no client: the TTL ends what is left. */
void lease_undo(struct lease *lease);

/* Ends a wait: its request gets this answer. The id is unknown afterwards. */
void lease_end_wait(struct lease *lease, const struct lease_refusal *refusal);

#endif
