/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking: the holder and the waiters of a lock, and which locks there are. Advice, old when it arrives.
 * No lease id and no value is ever told: a holder is named by its label, and by its
 * mark, which says to a break exactly which holder is meant.
 *
 *     GET /v1/locks/NAME                     view_begin_lock()
 *     GET /v1/locks?prefix=P&limit=N&after=NAME  view_begin_list()
 *     DELETE /v1/locks/NAME?break=MARK       view_begin_break()
 *
 * view/replica.h has what is about this replica and its nodes.
 */
#ifndef REDLOCKD_VIEW_H
#define REDLOCKD_VIEW_H

#include <stdbool.h>

#include "access/access.h"
#include "http/body.h"
#include "http/server.h"
#include "redlock.h"
#include "view/survey.h"
#include "view/trouble.h"

#define VIEW_LIST_DEFAULT 100
#define VIEW_LIST_MAX 1000
#define VIEW_LISTS_MAX 8 /* under way at a time: each walks through all keys of every node */

/* What this replica has, for its status. */
struct view_counts {
    unsigned leases, streams, jeopardy; /* held; of them streams; of these in jeopardy */
    uint64_t lost;                      /* since the start */
};

struct view {
    redlock *client;
    struct http_body body;
    void *wake_context; /* the library was given something to do */
    void (*wake)(void *context);
    const struct access *access; /* lists are filtered name by name */
    void *broken_context;        /* a holder was evicted: who did it, which lock, whose */
    void (*on_broken)(void *context, const struct access_who *who, const char *name,
                      const redlock_holder *holder);
    void *count_context;
    void (*count)(void *context, struct view_counts *counts);
    struct survey survey; /* with the waits of this replica */
    struct trouble trouble;
    int64_t began_ns; /* of the process */
    unsigned lists;   /* under way, also those whose clients are gone */
    bool is_draining;
    bool utf8_names; /* names beyond ASCII are served */
};

/* 0, or -1: out of memory. The rest of the fields is set by the caller. */
int view_init(struct view *view);
void view_free(struct view *view);

void view_begin_lock(struct view *view, struct http_exchange *exchange, struct rl_span name);
void view_begin_list(struct view *view, struct http_exchange *exchange,
                     const struct http_request *request, const struct access_who *who);
void view_begin_break(struct view *view, struct http_exchange *exchange,
                      const struct http_request *request, struct rl_span name,
                      const struct access_who *who);

#endif
