/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which leases this replica believes are held: those that it granted or renewed last, by their
 * tags, and in the order in which their time is over. Only for counting, for caps and for the
 * audit log: no answer about a lock ever comes from here, since other replicas renew and
 * release as well.
 *
 * Bounded: beyond LEDGER_MAX a lease is granted all the same, and its expiry is not told.
 */
#ifndef REDLOCKD_LEASES_LEDGER_H
#define REDLOCKD_LEASES_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/access.h"
#include "leases/id.h"
#include "system/asked.h"

#define LEDGER_MAX (1u << 18)
#define LEDGER_RENEWALS_FREE 10 /* in the time of one TTL */
#define LEDGER_PACE_MIN_MS 1000 /* or in this, where the TTL is shorter */

struct ledger_entry {
    enum asked asked_for;      /* first: the data of `job` */
    redlock_job job;           /* the nodes are being asked; 0: they are not */
    struct ledger_entry *next; /* in its bucket */
    size_t place;              /* in the heap */
    struct lease_tag tag;
    struct access_who who;    /* of the request that was granted or has renewed it last */
    struct access_rule *rule; /* whose cap it counts for; NULL: none */
    int64_t fence;            /* 0: none */
    int64_t ttl_ms;
    int64_t granted_ns; /* when this replica granted it, or heard of it first */
    int64_t valid_ns;   /* until then no node forgets it by itself: gone before, it was ended */
    int64_t expires_ns; /* when the nodes have forgotten it unless it was renewed elsewhere */
    int64_t due_ns;     /* when it is looked at next */
    int64_t paced_ns;   /* when the time began in which `renewals` are counted */
    uint32_t renewals;
    uint8_t
        looks; /* times that the nodes were asked since its time is over, and could not tell */
    bool is_left;   /* a stream that this replica renews no more, or a lease that was broken */
    bool is_broken; /* its end was told */
    const char *label; /* behind name; empty: none */
    char name[];
};

/* In the heap. The time is here as well, so that an order can be found without a look
 * at the entries. */
struct ledger_place {
    int64_t due_ns;
    struct ledger_entry *entry;
};

struct ledger {
    struct ledger_entry **buckets;
    size_t bucket_count; /* a power of two */
    struct ledger_place *heap;
    size_t heap_size;
    size_t count;
    uint64_t key; /* random and odd, as in leases/ids.h */
};

/* 0, or -1: out of memory. */
int ledger_init(struct ledger *ledger);
void ledger_free(struct ledger *ledger);

/* NULL: it is not there. */
struct ledger_entry *ledger_find(const struct ledger *ledger, const struct lease_tag *tag);

/* A new one of a tag that is not there; the other fields are the caller's to set.
 * NULL: no room. */
struct ledger_entry *ledger_add(struct ledger *ledger, const struct lease_tag *tag,
                                const char *name, const char *label, int64_t due_ns);
void ledger_remove(struct ledger *ledger, struct ledger_entry *entry);

/*
 * A renewal comes. Renewals are outside of quotas, since a client that is refused one may lose
 * its lock, unless it sends them much too often: false, there were LEDGER_RENEWALS_FREE before
 * it in the time of the TTL that this replica knows, whatever the request asks for.
 */
bool ledger_renewal_is_free(struct ledger_entry *entry, int64_t now_ns);

void ledger_set_due(struct ledger *ledger, struct ledger_entry *entry, int64_t due_ns);
/* The one whose time is over first; NULL: there is none. */
struct ledger_entry *ledger_first(const struct ledger *ledger);

/* Entry by entry: from 0 to count - 1, in any order. */
struct ledger_entry *ledger_at(const struct ledger *ledger, size_t index);

#endif
