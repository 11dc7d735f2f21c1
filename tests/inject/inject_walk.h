/* SPDX-License-Identifier: BSD-2-Clause */
/* A walk over everything that a client does, in which something fails on the way. */
#ifndef REDLOCK_TESTS_INJECT_WALK_H
#define REDLOCK_TESTS_INJECT_WALK_H

#include "client.h"
#include "inject_shim.h"

struct walk {
    struct cluster cluster;
    uint32_t flags; /* of the client */
    int64_t ttl_ms;
    int64_t wait_ms;
    int number;      /* of the walk: its names are its own */
    int descriptors; /* open before the first walk */
    int walks_with_failure;
    bool paused; /* the clock jumps on the way: holds and waits may end */
};

/* Starts the servers, and makes one walk in which nothing fails and all must succeed. */
void walk_begin(struct walk *w, uint32_t flags);

/*
 * Opens, locks (plain, fenced, bound, asynchronously, waiting), extends, asks, cancels,
 * releases and closes, while one call fails. True: it came to the failing call.
 */
bool walk_with(struct walk *w, enum inject_call call, int nth, int error, bool lasting);

/* A lock that the watchdog renews is renewed again after a call has failed while
 * it was held. */
void walk_renewing(struct walk *w, enum inject_call call, int nth, int error);

/* Whatever failed has left nothing behind, at the latest when its TTL has passed. */
void walk_end(struct walk *w);

#endif
