/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often a lease is renewed. Renewals are outside of quotas, since a client that is refused one may lose
 * its lock, unless there are more than PACE_FREE in the time of one TTL: then they count like any other
 * request. A fixed table: two leases in one place count anew each time they take turns, in favour of both.
 */
#ifndef REDLOCKD_ACCESS_PACE_H
#define REDLOCKD_ACCESS_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_FREE 10
#define PACE_PLACES 4096 /* a power of two */

struct pace_place {
    uint64_t lease;    /* bits of its tag, which is a digest */
    int64_t began_ns;  /* of the window that is counted */
    uint32_t renewals; /* in it */
};

struct pace {
    struct pace_place places[PACE_PLACES];
};

/* A renewal for ttl_ms. False: there were PACE_FREE before it in the time of one TTL. */
bool pace_is_free(struct pace *pace, const char *tag, int64_t ttl_ms, int64_t now_ns);

#endif
