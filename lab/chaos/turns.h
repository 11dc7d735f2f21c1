/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What failovers of elected masters cost: how long no lock could be taken, and which holders
 * went on at the new master.
 */
#ifndef REDLOCK_CHAOS_TURNS_H
#define REDLOCK_CHAOS_TURNS_H

#include "claims.h"

#include <stdio.h>

enum { TURNS_MAX = 512 };

/* A majority of the electors names another server. */
struct turn {
    int64_t begun_ns; /* the fault that it is due to */
    int64_t turned_ns;
    int vote;
    int64_t pause_ns;   /* no lock was taken meanwhile */
    int64_t granted_ns; /* the first new lock afterwards; 0: another turn came first */
    int kind;           /* enum fault_kind */
    int param;
    /* Holders that were renewed through it, or were lost: with a TTL that is long
     * enough, and others. */
    int went_on[2], lost[2];
};

struct turns {
    struct turn turn[TURNS_MAX];
    size_t count;
};

/* Of a sorted history. */
void turns_read(const struct history *h, struct turns *out);

/* Lines like those of report_print(), through `line`. */
void turns_print(const struct turns *t, int votes, int64_t max_ttl_ms,
                 void (*line)(void *data, const char *head, const char *text), void *data);

#endif
