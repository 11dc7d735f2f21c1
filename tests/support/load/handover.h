/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handing a lock over: processes that queue for one name, each holding it for a moment, and the
 * time from a holder's release to the next waiter's return from its call. The way to every node
 * and back takes so long that a busy machine adds little to it: round trips are measured.
 */
#ifndef REDLOCK_TESTS_HANDOVER_H
#define REDLOCK_TESTS_HANDOVER_H

#include "crowd.h"

struct handover {
    int64_t acquire_us; /* median of an uncontended acquire in the same run, same request */
    int64_t plain_us;   /* the same without REDLOCK_FAIR: a SET instead of a script */
    int64_t median_us;
    int64_t worst_us; /* nine of ten are quicker */
    int count;
};

/* On a way of so long to a node; so many handovers, or what happened within the time. */
struct handover handover_measure(enum trouble trouble, int way_ms, int count, int64_t limit_ms);

#endif
