/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PUT with a grant: a stream that was told `reconnect`, or whose TCP connection broke, comes back, to any
 * replica. Exactly the value of the grant is extended; nothing is acquired, and nothing is searched for. It
 * keeps the fence of its first `granted`.
 *
 * **It is left on close, never released**: a copy of this request, or the stream that it follows, may end
 * after it, and must not take the lock away from it.
 */
#ifndef REDLOCKD_LEASES_RESUME_H
#define REDLOCKD_LEASES_RESUME_H

#include "leases/leases.h"

void lease_begin_resume(struct leases *leases, struct http_exchange *exchange,
                        const struct http_request *request, const struct lease_terms *terms,
                        const struct access_who *who);
void lease_resumed(struct lease *lease, const redlock_event *event);

#endif
