/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /v1/leaders/NAME: the leader, which is the holder of that lock, and its term, which
 * is the fencing token; with the header Lease-Id also whether the holder has that lease id
 * ("leads"). A majority of the nodes is queried after the request came, never the memory of
 * this replica. No principal answers "do I lead?": many candidates have the same one.
 *
 *     ?term=T[&wait_ms=N]   a poll: answered when the term is not T (0: there is no leader)
 *                           or the wait is over
 *
 * Polls for one name share their looks at the nodes: one each LEADER_LOOK_NS, one when the
 * term that was seen must have expired, and one at once when this replica sees the lock
 * change. A look answers only polls that came before it began.
 */
#ifndef REDLOCKD_VIEW_LEADER_H
#define REDLOCKD_VIEW_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "access/routed.h"
#include "http/server.h"
#include "redlock.h"
#include "system/loop.h"

#define LEADER_LOOK_NS (500 * RL_NS_PER_MS)
#define LEADER_WAIT_MAX_MS 50000 /* as of a lease: proxies cut at 60 s */
#define LEADER_NAMES_MAX 256 /* that are looked at: each costs the nodes two queries a second */
#define LEADER_NAMES_OF_ONE_MAX 64 /* of one principal, as below */
#define LEADER_POLLS_MAX 4096
#define LEADER_POLLS_OF_ONE_MAX 1024

struct view;
struct leader_watch;

struct leaders {
    struct loop_part part;
    struct view *view;
    struct leader_watch *watches; /* one for each name */
    unsigned polls;               /* that wait */
    bool is_draining;             /* no poll waits any more */
};

/* After the server is freed and the client is closed. */
void leaders_free(struct leaders *leaders);

void leaders_begin(struct leaders *leaders, const struct routed *routed);

/* Rules are new: which of them decides about each poll. */
void leaders_reload(struct leaders *leaders);

/* Of a look, which is the data of the job. */
void leaders_answered(struct leaders *leaders, const redlock_event *event);

/* Every poll is answered by the next look. */
void leaders_drain(struct leaders *leaders);

/* A part of the loop. */
int64_t leaders_turn(void *context, int64_t now_ns);

#endif
