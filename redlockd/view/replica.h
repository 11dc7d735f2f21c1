/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This replica, its quorums and nodes. No node is queried but for locks:
 *
 *     GET /v1/nodes               view_begin_nodes()
 *     GET /v1/status[?locks=N]    view_begin_status(): names as the client may read them, nodes
 *                                 for those that may read /v1/nodes; with locks=N also the
 *                                 overview of all locks
 *     GET /readyz[?verbose]       view_begin_ready(): a majority of each quorum votes, and the
 *                                 daemon does not drain; verbose: the quorums, if the client
 *                                 may look
 */
#ifndef REDLOCKD_VIEW_REPLICA_H
#define REDLOCKD_VIEW_REPLICA_H

#include "view/view.h"

void view_begin_nodes(struct view *view, const struct routed *routed);
void view_begin_status(struct view *view, const struct routed *routed);
void view_begin_ready(struct view *view, const struct routed *routed, bool may_look);

#endif
