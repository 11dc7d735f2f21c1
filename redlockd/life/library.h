/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library in the loop: its events, and which part of the daemon each is for. Answers that
 * these queue leave with the parts of the loop, which run after every event.
 *
 * One drain is one turn of the library, and losses come first: a renewal that is due waits for
 * no more than that.
 */
#ifndef REDLOCKD_LIFE_LIBRARY_H
#define REDLOCKD_LIFE_LIBRARY_H

#include "leases/leases.h"
#include "once/once.h"
#include "settings/quorum.h"
#include "view/view.h"

struct library {
    struct loop_source source; /* first: the library's descriptor */
    struct leases *leases;     /* with the client; NULL: not open */
    struct view *view;
    struct once *once;
    /* The client of records of once/once.h: NULL until it is needed. */
    redlock *records;
    struct loop_source records_source;
    const char *config;               /* of the nodes; NULL for the machine's */
    const struct quorum_print *print; /* what it was when the daemon started */
};

/* 0, or -1 with errno. All of them must outlive it. */
int library_open(struct library *library, struct leases *leases, struct view *view,
                 struct once *once, const char *config, const struct quorum_print *print);
/* Also of one that is not open, if it is zero. */
void library_close(struct library *library);

/* Hands out what has happened. */
void library_drain(struct library *library, int timeout_ms);

#endif
