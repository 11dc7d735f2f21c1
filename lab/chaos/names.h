/* SPDX-License-Identifier: BSD-2-Clause */
/* What is locked in a run, and the numbers that processes and checker agree on. */
#ifndef REDLOCK_CHAOS_NAMES_H
#define REDLOCK_CHAOS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The first three are mutexes with tokens, each with a register behind it. */
enum name {
    NAME_ORDERS,
    NAME_STOCK,
    NAME_LEDGER,
    NAME_CATALOG,
    NAME_PRINTERS,
    NAME_TREE,
    NAME_PARCEL
};

enum {
    NODES = 5,
    REPLICAS = 3,  /* of redlockd, where workers ask by HTTP */
    NETWORKED = 2, /* the first ones are in namespaces, where that is possible */
    WORKERS = 8,
    PARCELS =
        16, /* mutexes with tokens from NAME_PARCEL on: many short holds, some long ones */
    NAMES = NAME_PARCEL + PARCELS,
    NAME_EVICTED = NAMES - 1, /* the one whose holders are broken now and then */
    REGISTERS = 3,
    PRINTERS = 2,      /* slots of the semaphore */
    MAX_TTL_MS = 2000, /* small, so that quarantines end within a run */
    GUARD_MS = 4000,   /* what the library makes of it: max_ttl and two seconds */
    VOUCH_MS = 2000,   /* L of docs/elected.md: how long electors vouch for a master */
    MARGIN_MS = 2000, /* of a quarantine; on a Sentinel group it is max_ttl and both of these */
    BLIND_MS = 1600,  /* after a clock step: "up to about a second between step and sample" */
    MAX_WAIT_MS = 4000, /* of a worker's request while there are faults */
    ALLOWANCE_MS = 250, /* what a busy machine may add to a promised time */
};

extern const char *const name_text[NAMES];

/* Are all its holds with a token? */
bool name_is_fenced(int name);

/* "orders+stock"; returns out. */
const char *names_text(unsigned int mask, char *out, size_t size);

#endif
