/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which request is for whom. /livez shows that the process runs its loop and depends on nothing
 * else, /readyz that a majority of the nodes votes, /version what it is; they need no right.
 * What is below /v1/ and /metrics need one, which is checked here.
 */
#ifndef REDLOCKD_LIFE_ROUTES_H
#define REDLOCKD_LIFE_ROUTES_H

#include "access/routed.h"
#include "http/body.h"
#include "http/server.h"
#include "leases/leases.h"
#include "metrics/metrics.h"
#include "nodes/changes.h"
#include "once/once.h"
#include "view/view.h"

struct routes {
    struct leases *leases;
    struct access *access;
    struct journal *journal;
    struct http_server *server;                /* NULL until it is there; for its counters */
    const char *listeners[HTTP_LISTENERS_MAX]; /* names, by number; NULL: none is open */
    bool utf8_names;                           /* names beyond ASCII are served */
    struct view view;
    struct once once;
    struct metrics metrics;
    struct changes changes;
    struct http_body body;
};

/* 0, or -1: out of memory. */
int routes_init(struct routes *routes, struct leases *leases, struct access *access,
                struct journal *journal, bool utf8_names);
/* Once the library and the server are there, before the first turn of the loop. */
void routes_open(struct routes *routes, struct http_server *server);
/* After the leases are closed. */
void routes_free(struct routes *routes);

/* The server's handler; routes must outlive the server. */
struct http_handler routes_handler(struct routes *routes);

#endif
