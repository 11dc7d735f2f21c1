/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of leases, for the audit log, the caps of rules and the counters: called where a
 * lease is granted, renewed, released or found to be gone.
 *
 * A lease that is neither renewed nor released here may have been by another replica, so the
 * nodes are queried: twice before its time is over, and then. If they keep it for longer than
 * this replica knows, the other one reports its end. If it is gone before its time was over, it
 * was ended there: reported as JOURNAL_ENDED. Only what is gone afterwards is reported as
 * expired; a release through another replica in the last sixteenth of a TTL looks like that. If
 * the nodes cannot be reached, they are queried again.
 */
#ifndef REDLOCKD_LEASES_HOLDINGS_H
#define REDLOCKD_LEASES_HOLDINGS_H

#include "base/slice.h"
#include "journal/journal.h"
#include "leases/leases.h"

/* Of a lease that is held: what holdings_held() takes. */
struct holding {
    const struct lease_tag *tag;
    const struct access_who *who;
    struct access_rule *rule; /* whose cap it counts for; NULL: none */
    const char *name;
    const char *label; /* empty: none, or unknown */
    uint64_t mark;     /* of its grant, for what is held from then on */
    int64_t fence;     /* 0: none; of a renewal: as its client has it */
    int64_t ttl_ms;
    int64_t at_ns;                /* when that happened, for what is held from then on */
    int64_t waited_ns;            /* since its request */
    int64_t valid_ns;             /* until when the library vouches for it */
    const struct http_peer *peer; /* of the request; NULL: there is none any more */
    /* A stream: the daemon renews it, and learns of its end; the nodes are not queried. */
    bool is_stream;
};

/* Of a lease under way; `value` has the label, and may be NULL. Valid as long as these
 * are. */
struct holding holding_of(const struct lease_request *request, const char *value,
                          int64_t now_ns, char label[REDLOCK_LABEL_MAX + 1]);

/* What this replica knows of a lease, under this name; NULL: nothing. */
struct lease_held *holdings_find(const struct leases *leases, const struct lease_tag *tag,
                                 const char *name);

/* It is held: granted now, or renewed, also by this replica after another. */
void holdings_held(struct leases *leases, const struct holding *holding, bool is_granted);

/* A stream that the daemon renews no more and has not released: its time runs out, or it
 * comes back. */
void holdings_left(struct leases *leases, const struct lease_request *request);

/*
 * The end of one: JOURNAL_RELEASED or JOURNAL_LOST (reported as JOURNAL_EXPIRED if its time is
 * over here), or JOURNAL_BROKEN. The label of `holding` counts where this replica does not know
 * the lease: the nodes had it.
 */
void holdings_ended(struct leases *leases, const struct holding *holding,
                    enum journal_event event, const char *reason);

/* The renewal of a stream has failed with this error; NULL: it has succeeded after that. */
void holdings_endangered(struct leases *leases, const struct holding *holding,
                         const char *error);

/* A request that was refused by rights or quotas. path: NULL if it is gone; who: NULL if
 * that is not proven; name: NULL if it is not about one. */
void holdings_denied(struct leases *leases, const struct http_exchange *exchange,
                     const struct rl_slice *path, const struct access_who *who,
                     const char *name, const char *reason);

/* Rules are new: whose cap each lease counts for. */
void holdings_reload(struct leases *leases);

/* No lease that was granted or renewed here is valid, and no request about one is under way:
 * its client may be gone, and its release not confirmed. Streams that were left are renewed
 * elsewhere. */
bool holdings_are_over(const struct leases *leases, int64_t now_ns);

/* It is time for a look at one that is held, or its next time is planned. */
void holdings_look(struct leases *leases, struct lease_entry *entry, int64_t now_ns);
/* What the nodes report of one. */
void holdings_looked(struct leases *leases, struct lease_held *held,
                     const redlock_event *event);

#endif
