/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this replica remembers of lease ids, by their tags: which wait here, and which are
 * spent.
 *
 * enum lease_memory has the states. Memory only ever refuses: a spent id gets 409 or 410
 * without a question to the nodes. Two minutes are longer than any proxy keeps a copy of a
 * request; beyond that the nodes tell while it is held.
 *
 * Bounded: beyond IDS_SPENT_MAX the id that was spent first is forgotten first. An id that was
 * not known here when it ended, as a DELETE can make any number of, has a bound of its own: it
 * takes no place of one that was granted here. Waits and streams are bounded by the
 * connections.
 */
#ifndef REDLOCKD_LEASES_IDS_H
#define REDLOCKD_LEASES_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "leases/id.h"
#include "leases/lease.h"

#define IDS_REMEMBERED_NS (120 * INT64_C(1000000000))
#define IDS_SPENT_MAX (1u << 20)   /* of those that waited or were granted here */
#define IDS_STRANGE_MAX (1u << 18) /* of the others */

struct ids_entry;

/* Spent ones, in the order of their time. */
struct ids_spent {
    struct ids_entry *oldest, *newest;
    size_t count;
};

struct ids {
    struct ids_entry **buckets;
    size_t bucket_count;       /* a power of two */
    size_t count;              /* all entries */
    uint64_t key;              /* random and odd: clients choose tags, not buckets */
    struct ids_spent known;    /* bounded by IDS_SPENT_MAX */
    struct ids_spent strange;  /* ended, and not known before: by IDS_STRANGE_MAX */
    struct ids_entry *waiting; /* in no order */
};

/* 0, or -1: out of memory. */
int ids_init(struct ids *ids);
void ids_free(struct ids *ids);

/* What is known of it at now_ns; *user only for LEASE_WAITS and LEASE_STREAMS. */
enum lease_memory ids_find(struct ids *ids, const struct lease_tag *tag, int64_t now_ns,
                           void **user);

/* Each replaces what was known of the tag. 0, or -1: out of memory, and nothing has changed;
 * never of a tag that is known. */
int ids_set_waiting(struct ids *ids, const struct lease_tag *tag, void *user);
int ids_set_streaming(struct ids *ids, const struct lease_tag *tag, void *user);
int ids_set_spent(struct ids *ids, const struct lease_tag *tag, enum lease_memory state,
                  int64_t now_ns);

/* A wait that was refused or is gone. Only of a tag that waits. */
void ids_forget(struct ids *ids, const struct lease_tag *tag);

/* Each wait once; `look` may end the one that it is given, and none else. */
void ids_each_wait(struct ids *ids, void (*look)(void *wait, void *context), void *context);

#endif
