/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of leases, for the audit log, the caps of rules and the counters: called where a lease is
 * granted, renewed, released or found to be gone.
 *
 * A lease that is neither renewed nor released here until its time is over may have been renewed by
 * another replica, so the nodes are asked before it is told as expired. If they have it, the other replica
 * tells its end; if they cannot be asked, they are asked again.
 */
#ifndef REDLOCKD_LEASES_HOLDINGS_H
#define REDLOCKD_LEASES_HOLDINGS_H

#include "audit/audit.h"
#include "leases/leases.h"

/* Of a lease that is held: what holdings_held() is told. */
struct holding {
    const struct lease_tag *tag;
    const struct access_who *who;
    const char *name;
    const char *label; /* empty: none, or unknown */
    int64_t fence;     /* 0: none */
    int64_t ttl_ms;
    /* A stream: the daemon renews, and hears of its end by itself; the nodes are not asked. */
    bool is_stream;
};

/* Of a lease under way; `value` tells the label, and may be NULL. Valid as long as these are. */
struct holding holding_of(const struct lease *lease, const char *name, const char *value,
                          char label[REDLOCK_LABEL_MAX + 1]);

/* It is held: granted now, or renewed, also by this replica after another. */
void holdings_held(struct leases *leases, const struct holding *holding, bool is_granted);

/* The same two of a lease that has its lock: holdings_held() and holdings_ended(). */
void holdings_begin(struct lease *lease, bool is_granted);
void holdings_end(struct lease *lease, enum audit_event event, const char *reason);

/* A stream that the daemon renews no more and has not released: its time runs out, or it comes back. */
void holdings_left(struct leases *leases, const struct lease_tag *tag);

/*
 * The end of one: AUDIT_RELEASED or AUDIT_LOST (told as AUDIT_EXPIRED if its time is over here), or
 * AUDIT_BROKEN. Label and fence of `holding` count where this replica does not know the lease.
 */
void holdings_ended(struct leases *leases, const struct holding *holding,
                    enum audit_event event, const char *reason);

/* The renewal of a stream has failed; 0: it has succeeded after that. */
void holdings_endangered(struct lease *lease, int error);

/* A request that was refused by rights or quotas; name: NULL if it is not about one. */
void holdings_denied(struct leases *leases, const struct access_who *who, const char *name,
                     const char *reason);

/* Rules are new: whose cap each lease counts for. */
void holdings_reload(struct leases *leases);

/* No lease that was granted or renewed here is valid; streams that were left are renewed elsewhere. */
bool holdings_are_over(const struct leases *leases, int64_t now_ns);

/* A part of the turn: asks about leases whose time is over. When to be called next. */
int64_t holdings_turn(struct leases *leases, int64_t now_ns);

#endif
