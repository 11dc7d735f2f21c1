/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which request is for whom. /livez says that the process runs its loop and depends on nothing else,
 * /version what it is; both need no right. What is below /v1/ needs one, and is asked for it here.
 */
#ifndef REDLOCKD_LIFE_ROUTES_H
#define REDLOCKD_LIFE_ROUTES_H

#include "http/body.h"
#include "http/server.h"
#include "leases/leases.h"

struct routes {
    struct leases *leases;
    struct http_body body;
};

/* 0, or -1: out of memory. */
int routes_init(struct routes *routes, struct leases *leases);
void routes_free(struct routes *routes);

/* The server's handler; routes must outlive the server. */
struct http_handler routes_handler(struct routes *routes);

#endif
