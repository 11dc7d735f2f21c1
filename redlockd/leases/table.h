/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this replica knows of leases, by their tags: one entry for each, with two parts.
 *
 * *The memory of its id* (enum lease_memory): it waits or streams here, or is spent. Memory
 * only ever refuses: a spent id gets 409 or 410 without a query of the nodes. Two minutes
 * are longer than any proxy keeps a copy of a request; beyond that the nodes show while it is
 * held.
 *
 * *What is held*, as far as this replica knows: granted or renewed here last. Only for
 * counting, for caps and for the audit log: no answer about a lock ever comes from here, since
 * other replicas renew and release as well (leases/holdings.h).
 *
 * An entry has one time at which something is due: the tick of its stream, or the next look at
 * what is held. Spent ids are forgotten in the order in which they were spent, since all are
 * remembered for the same time: a queue has that order without a heap.
 *
 * Bounded: beyond LEASES_SPENT_MAX the id that was spent first is forgotten first. An id that
 * was not known here when it ended, as a DELETE can make any number of, has a bound of its own:
 * it takes no place of one that was granted here. Waits and streams are bounded by the
 * connections. Beyond LEASES_HELD_MAX a lease is granted all the same, and its expiry is not
 * reported.
 */
#ifndef REDLOCKD_LEASES_TABLE_H
#define REDLOCKD_LEASES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/access.h"
#include "base/timers.h"
#include "leases/id.h"
#include "leases/lease.h"
#include "system/job.h"
#include "system/loop.h"

#define LEASE_REMEMBERED_NS (120 * RL_NS_PER_S)
#define LEASES_SPENT_MAX (1u << 20)   /* of those that waited or were granted here */
#define LEASES_STRANGE_MAX (1u << 18) /* of the others */
#define LEASES_HELD_MAX (1u << 18)
#define LEASE_RENEWALS_FREE 10 /* in the time of one TTL */
#define LEASE_PACE_MIN_MS 1000 /* or in this, where the TTL is shorter */

/* A million of them are kept, and most requests find theirs in no cache: as small as can be. */
struct lease_entry {
    struct rl_timer due;               /* lease_table_plan() */
    struct lease_entry *next;          /* in its bucket */
    struct lease_entry *newer, *older; /* of spent ones */
    union {
        struct lease *lease; /* WAITS and STREAMS: the request that does */
        int64_t until_ns;    /* GRANTED and ENDED: forgotten then */
    };
    struct lease_held *held; /* NULL: not held, as far as is known here */
    struct lease_tag tag;
    uint8_t memory;  /* enum lease_memory */
    bool is_strange; /* of a spent one: it was not known before */
};

struct lease_held {
    enum job_type job_type; /* first: the data of `job` */
    redlock_job job;        /* the nodes are being queried; 0: they are not */
    struct lease_entry *entry;
    struct lease_held *next, *previous; /* in table->held */
    struct access_who who;    /* of the request that was granted or has renewed it last */
    struct access_rule *rule; /* whose cap it counts for; NULL: none */
    uint64_t mark;            /* of its grant: what a client sends as such may be made up */
    int64_t fence;            /* 0: none */
    int64_t ttl_ms;
    int64_t granted_ns; /* when this replica granted it, or learned of it first */
    int64_t valid_ns;   /* until then no node forgets it by itself: gone before, it was ended */
    int64_t expires_ns; /* when the nodes have forgotten it unless it was renewed elsewhere */
    int64_t look_ns;    /* when it is looked at next */
    int64_t paced_ns;   /* when the time began in which `renewals` are counted */
    uint32_t renewals;
    uint8_t looks;  /* looks since its time is over that decided nothing */
    bool is_left;   /* a stream that this replica renews no more, or a lease that was broken */
    bool is_broken; /* its end was reported */
    const char *label; /* behind name; empty: none */
    char name[];
};

/* Spent ones, in the order of their time. */
struct lease_spent {
    struct lease_entry *oldest, *newest;
    size_t count;
};

struct lease_table {
    struct loop_part part; /* of the loop: due with the first of `due` */
    struct lease_entry **buckets;
    size_t bucket_count;        /* a power of two */
    size_t count;               /* all entries */
    uint64_t key;               /* random and odd: clients choose tags, not buckets and marks */
    struct rl_timers due;       /* with room for every entry */
    struct lease_spent known;   /* bounded by LEASES_SPENT_MAX */
    struct lease_spent strange; /* ended, and not known before: by LEASES_STRANGE_MAX */
    struct lease_held *held;    /* all that are held, in no order */
    size_t held_count;
};

/* 0, or -1: out of memory. */
int lease_table_init(struct lease_table *table);
void lease_table_free(struct lease_table *table);

/* What is known at now_ns; NULL: nothing. Valid until something else is remembered of it. */
struct lease_entry *lease_table_find(struct lease_table *table, const struct lease_tag *tag,
                                     int64_t now_ns);

/* What is remembered of the id. One that is held was granted, however long ago. */
static inline enum lease_memory lease_memory_of(const struct lease_entry *entry)
{
    if (!entry)
        return LEASE_UNKNOWN;
    return entry->memory == LEASE_UNKNOWN && entry->held ? LEASE_GRANTED
                                                         : (enum lease_memory)entry->memory;
}

/* What is held of it, or NULL. */
struct lease_held *lease_table_held(const struct lease_table *table,
                                    const struct lease_tag *tag);

/*
 * Replaces what was remembered of the id. lease: only for LEASE_WAITS and LEASE_STREAMS.
 * 0, or -1: out of memory, and nothing has changed; never of an id that is known.
 */
int lease_table_remember(struct lease_table *table, const struct lease_tag *tag,
                         enum lease_memory memory, struct lease *lease, int64_t now_ns);

/* A new one of a tag that is not held; the other fields are the caller's to set, look_ns
 * is RL_NEVER_NS. NULL: no room. */
struct lease_held *lease_table_hold(struct lease_table *table, const struct lease_tag *tag,
                                    const char *name, const char *label);
void lease_table_let_go(struct lease_table *table, struct lease_held *held);

/*
 * A renewal comes. Renewals are outside of quotas, since a client that is refused one may lose
 * its lock, unless it sends them much too often: false, there were LEASE_RENEWALS_FREE before
 * it in the time of the TTL that this replica knows, whatever the request has.
 */
bool lease_renewal_is_free(struct lease_held *held, int64_t now_ns);

/* lease_due_ns() of its stream, or look_ns of what is held, has changed. */
void lease_table_plan(struct lease_table *table, struct lease_entry *entry);
/* One for which it is time, or NULL; it is to be planned anew. */
struct lease_entry *lease_table_due(struct lease_table *table, int64_t now_ns);

#endif
