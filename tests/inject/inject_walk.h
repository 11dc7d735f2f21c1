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

/* The stations of a walk: what a client does, each judged by what may come of a failure. */
enum {
    NODES = 3,
    WAIT_IN_VAIN_MS = 60,
    DONE_WITHIN_MS = 60000, /* for what hangs */
};

/* A name of this walk's own. */
void station_name_of(const struct walk *w, const char *what, char out[REDLOCK_NAME_MAX + 1]);

/* May a call of this thread end so? */
void station_check_error(const struct walk *w, const char *what, int error);
/* Asked of the servers themselves: a lock that is ours now is on a majority of them. */
void station_check_grant(struct walk *w, const redlock_lock *lock);

void lock_blocking(struct walk *w, redlock *r, const char *what, uint32_t flags);
void lock_asynchronously(struct walk *w, redlock *r);
void wait_and_cancel(struct walk *w, redlock *r);
void start_jobs(struct walk *w, redlock *r);
void hold_lease(struct walk *w, redlock *r);
void look_around(struct walk *w, redlock *r);

/* The calls work again: every node comes back by itself, whatever failed before. */
void await_all_up(struct walk *w, redlock *r);

#endif
