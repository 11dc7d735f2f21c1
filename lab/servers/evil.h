/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers that misbehave from the first byte on. Those that behave until the first SET are
 * made with fake.h, those that are in the way of a real server with proxy.h.
 */
#ifndef REDLOCK_TESTS_EVIL_H
#define REDLOCK_TESTS_EVIL_H

#include "ports.h"

#include <stdatomic.h>
#include <sys/types.h>

enum evil_kind {
    EVIL_SILENT,       /* accepts, reads, never answers */
    EVIL_DEAF,         /* accepts, does not even read */
    EVIL_GARBAGE,      /* answers every read with bytes that are no RESP */
    EVIL_HTTP,         /* a web server's 400, then closes */
    EVIL_HUGE_BULK,    /* a bulk header of 1 GiB, then bytes */
    EVIL_HUGE_ARRAY,   /* an array header of 100,000,000, then integers */
    EVIL_DEEP_ARRAY,   /* arrays in arrays in arrays */
    EVIL_ENDLESS_LINE, /* a status line that never ends */
    EVIL_CLOSES,       /* accepts and closes at once */
    EVIL_CHATTY,       /* speaks first, and twice for every request */
    EVIL_KINDS,
};

struct evil_shared {
    _Atomic int connections;
    _Atomic long long sent; /* bytes of the endless kinds */
};

struct evil {
    enum evil_kind kind;
    struct port port;
    int listener; /* in the helper */
    pid_t pid;
    struct evil_shared *shared;
    char url[64];
};

const char *evil_name(enum evil_kind kind);
void evil_start(struct evil *e, enum evil_kind kind);

/* On a port that was reserved before, e.g. the one of a server that was killed. */
void evil_start_on(struct evil *e, enum evil_kind kind, struct port port);
void evil_stop(struct evil *e); /* the port stays reserved */

#endif
