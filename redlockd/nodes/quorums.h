/* SPDX-License-Identifier: BSD-2-Clause */
/* How the nodes of each quorum are, as the library knows without a request to them. */
#ifndef REDLOCKD_NODES_QUORUMS_H
#define REDLOCKD_NODES_QUORUMS_H

#include <stdbool.h>

#include "redlock.h"
#include "ui/guarantee.h"

struct quorum_view {
    char name[REDLOCK_QUORUM_MAX + 1]; /* empty: it has none */
    unsigned nodes;
    unsigned needed; /* a majority */
    unsigned voting; /* connected and not in quarantine */
    struct guarantee guarantee;
};

/* A node that is connected, and whose grants are counted. */
bool quorums_node_votes(const redlock_node_info *node);

/* How many there are in out, at most REDLOCK_QUORUMS_MAX. */
unsigned quorums_look(redlock *client, struct quorum_view out[REDLOCK_QUORUMS_MAX]);

/* A node does not count because its marker names another set of nodes than the
 * configured one (G8). */
bool quorums_are_of_another_set(redlock *client);

/* A majority of each votes. */
bool quorums_are_ready(redlock *client);

#endif
