/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that waits for a lock with a client of its own, so that it can be killed; and what
 * the nodes' queues look like meanwhile, seen from outside.
 */
#ifndef REDLOCK_TESTS_WAITER_H
#define REDLOCK_TESTS_WAITER_H

#include "servers.h"

#include <stdatomic.h>
#include <stdint.h>

struct waiter_terms {
    const char *name;
    int64_t ttl_ms;
    int64_t wait_ms;
    uint32_t flags; /* of the request */
    uint32_t node_timeout_ms;
    const char *username, *password; /* NULL: none */
};

struct waiter_news {
    _Atomic int asking; /* connected, and about to call */
    _Atomic int done;   /* the call has returned */
    _Atomic int let_go; /* it is to release and end */
    int error;
    int64_t asked_ns, granted_ns;
};

struct waiter {
    const struct cluster *cluster;
    struct waiter_terms terms;
    struct waiter_news *news;
    int up; /* nodes that answer */
    pid_t pid;
};

/* `up`: nodes that answer now, which it connects to before it asks. */
void waiter_start(struct waiter *w, const struct cluster *c, int up,
                  const struct waiter_terms *terms);
/* Until its call has returned; false as wait_until(), or after `limit_ms`. */
bool waiter_await(struct waiter *w);
bool waiter_await_within(struct waiter *w, int64_t limit_ms);
void waiter_kill(struct waiter *w); /* -9 */
void waiter_end(struct waiter *w);  /* releases what it holds; must end well */

/* Members of the name's queue on one node. */
long long queue_length(const struct server *s, const char *name);

/* Waits until every node of the cluster has so many; false as wait_until(). */
bool queue_await(const struct cluster *c, const char *name, int length);

/* Until there is no queue and no list of the living on any node, only the lock of another. */
bool queue_await_only_the_lock(const struct cluster *c);

#endif
