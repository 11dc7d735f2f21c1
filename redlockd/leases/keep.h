/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POST and DELETE of a lease: what any replica can do with a lock that another may have granted.
 *
 * Both go on when their client is gone: an extension is never rolled back, and what a client wants gone
 * may go. A renewal needs the grant: a value that was only found by its tag may be one that its maker
 * is deleting at this moment. A release does not: without a grant every value with the tag is released.
 */
#ifndef REDLOCKD_LEASES_KEEP_H
#define REDLOCKD_LEASES_KEEP_H

#include "leases/leases.h"

/* A lease with the terms of its grant, whose handle the caller extends or releases. NULL: answered. */
struct lease *lease_adopt(struct leases *leases, struct http_exchange *exchange,
                          const struct http_request *request, const struct lease_terms *terms,
                          const struct access_who *who, enum lease_state state);

void lease_begin_renew(struct leases *leases, struct http_exchange *exchange,
                       const struct http_request *request, const struct lease_terms *terms,
                       const struct access_who *who);
void lease_begin_release(struct leases *leases, struct http_exchange *exchange,
                         const struct http_request *request, const struct lease_terms *terms,
                         const struct access_who *who);

/* What became of them. */
void lease_renewed(struct lease *lease, const redlock_event *event);
void lease_released(struct lease *lease, const redlock_event *event);

#endif
