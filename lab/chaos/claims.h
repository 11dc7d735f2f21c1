/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A history read as claims: for each acquisition, when it was requested, granted and over. A
 * holder claims a lock from the moment it knows of the grant until it begins to release it,
 * learns that it is lost, or its validity ends, whichever comes first; stopped or dead, until
 * its validity ends. A dead worker that used `redlock hold` or a stream is an exception: that
 * gives the lock back at once.
 */
#ifndef REDLOCK_CHAOS_CLAIMS_H
#define REDLOCK_CHAOS_CLAIMS_H

#include "record.h"

#include <stdbool.h>

/* All times CLOCK_BOOTTIME; 0: did not happen. */
struct claim {
    uint32_t number;
    int worker, life;
    int kind, slot;
    unsigned int names;
    int flags; /* RECORD_FAIR and so on */
    int64_t asked_ns, wait_until_ns;
    int64_t ttl_ms; /* 0: not known */
    int64_t granted_ns, denied_ns;
    int64_t deadline_ns; /* the last that the holder has seen */
    int64_t looked_ns;   /* when it last looked */
    int64_t gone_ns;     /* when it first saw that it is over */
    int64_t released_ns, lost_ns;
    int64_t token;
    int64_t evict_asked_ns, evicted_ns; /* by another: before the call, and when it succeeded */
    int64_t end_ns;                     /* of the claim; granted_ns if it never was one */
};

struct claims {
    struct claim *claim; /* by number; those without asked_ns do not exist */
    size_t count;
};

/* Of a sorted history. The caller frees. */
struct claims claims_read(const struct history *h);
void claims_free(struct claims *c);

/* A stretch of time in which something was the matter with one worker or node. */
struct stretch {
    int64_t from_ns, to_ns; /* INT64_MAX: never ended */
    int kind;               /* enum fault_kind */
    int target;
    int64_t param;
};

struct stretches {
    struct stretch *stretch;
    size_t count;
};

struct stretches stretches_read(const struct history *h);
void stretches_free(struct stretches *s);

#endif
