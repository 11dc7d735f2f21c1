/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which request is for whom. What is here needs no lock: /livez says that the process runs its loop and
 * depends on nothing else, /version what it is.
 */
#ifndef REDLOCKD_LIFE_ROUTES_H
#define REDLOCKD_LIFE_ROUTES_H

#include "http/body.h"
#include "http/server.h"

struct routes {
    struct http_body body;
};

/* 0, or -1: out of memory. */
int routes_init(struct routes *routes);
void routes_free(struct routes *routes);

/* The server's handler; routes must outlive the server. */
struct http_handler routes_handler(struct routes *routes);

#endif
