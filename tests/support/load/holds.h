/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record of all holds, shared by processes: each hold with its start, the
 * moment it was granted, its end and its token, all on CLOCK_BOOTTIME, which they have in
 * common. Afterwards it is looked for two holders at once and for tokens out of order.
 */
#ifndef REDLOCK_TESTS_HOLDS_H
#define REDLOCK_TESTS_HOLDS_H

#include <stdatomic.h>
#include <stdint.h>

enum { HOLD_NAMES_MAX = 64 };

struct hold_record {
    int name;
    int64_t asked_ns;   /* before the call */
    int64_t granted_ns; /* after it returned */
    int64_t ended_ns;   /* before the release, or the end of the validity if that came first */
    int64_t token;
};

struct holds {
    int capacity;
    _Atomic int count; /* places given out; complete once the processes have ended */
    _Atomic int stop;  /* tells the processes to end */
    struct hold_record record[];
};

struct holds *holds_new(int capacity);

/* The place for one more; NULL when it is full. */
struct hold_record *holds_add(struct holds *h);

/* Pairs that held one name at the same time. */
int holds_doubles(const struct holds *h);

/*
 * Acquisitions that started after another one completed and have no larger token, and tokens
 * that were given twice.
 */
int holds_disorders(const struct holds *h);

#endif
