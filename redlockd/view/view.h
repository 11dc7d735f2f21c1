/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking: the holder and the waiters of a lock, and which locks there are. Advice, old when it
 * arrives. No lease id and no value is ever shown: a holder is named by its label, and by its
 * fingerprint, which identifies for a break exactly one holder.
 *
 *     GET /v1/locks/NAME                     view_begin_lock()
 *     GET /v1/locks?prefix=P&limit=N&after=NAME  view_begin_list()
 *     POST /v1/breaks/NAME                   view_begin_break()
 *
 * view/leader.h has who leads; view/replica.h has what is about this replica and its nodes.
 */
#ifndef REDLOCKD_VIEW_H
#define REDLOCKD_VIEW_H

#include <stdbool.h>

#include "http/body.h"
#include "http/server.h"
#include "leases/leases.h"
#include "view/leader.h"
#include "view/overview.h"

#define VIEW_LIST_DEFAULT 100
#define VIEW_LIST_MAX 1000
#define VIEW_LISTS_MAX 8 /* under way at a time: each walks through all keys of every node */
#define VIEW_LISTS_OF_ONE_MAX 4 /* of one principal */

struct view {
    struct leases *leases;
    struct http_body body;
    struct overview overview; /* with the waits of this replica */
    struct leaders leaders;
    int64_t began_ns;              /* of the process */
    struct view_request *requests; /* under way, also those whose clients are gone */
    bool is_draining;
};

/* 0, or -1: out of memory. */
int view_init(struct view *view, struct leases *leases);
/* After the leases are closed. */
void view_free(struct view *view);

void view_begin_lock(struct view *view, const struct routed *routed);
void view_begin_list(struct view *view, const struct routed *routed);
void view_begin_break(struct view *view, const struct routed *routed);

/* An error of the library, as a problem. */
void view_answer_error(struct view *view, struct http_exchange *exchange, int error,
                       const char *detail);

/* What the nodes answered; the request is the data of the job. */
void view_answer_lock(struct view *view, const redlock_event *event);
void view_answer_list(struct view *view, const redlock_event *event);
void view_answer_break(struct view *view, const redlock_event *event);

#endif
