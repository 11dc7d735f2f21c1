/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callers of the library, each of which acquires a lock, releases it, and begins again: the
 * load of every benchmark.
 */
#ifndef LAB_CALLERS_CALLERS_H
#define LAB_CALLERS_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/callers/window.h"
#include "redlock.h"

enum callers_way {
    CALLERS_ASYNC,    /* all of them in this thread, by redlock_next() of the first client */
    CALLERS_BLOCKING, /* one, in this thread, by redlock_acquire() and redlock_release() */
    CALLERS_THREADS,  /* the same, each in a thread of its own; they take the clients in turn */
};

struct callers {
    enum callers_way way;
    redlock *const *client;
    unsigned client_count;
    unsigned count;
    int64_t ttl_ms, wait_ms;
    uint32_t flags;    /* of the requests */
    const char *name;  /* that all callers want; NULL: distinct names */
    const char *label; /* of the requests; NULL: none */
    bool keyed;        /* each request has an idempotency key of its own; CALLERS_ASYNC only */
    uint64_t *turns;   /* cycles of each caller while measuring; NULL: not wanted */
};

/*
 * Until the window is over and nothing is in flight; the caller closes the window. 0, or -1
 * with a message on stderr, as below.
 */
int callers_run(const struct callers *callers, struct window *window);

/* Reads the replies of the nodes that were not needed for the last majorities. */
void callers_settle(redlock *client);

/* Opens a client, waits until every node is connected and tries one lock: a benchmark of nodes
 * that do not vote would measure nothing. NULL on failure. */
redlock *callers_open(const redlock_options *options, int64_t ttl_ms);

/* The library's words about a failure, on stderr. Returns -1. */
int callers_complain(const char *what, int error);

#endif
