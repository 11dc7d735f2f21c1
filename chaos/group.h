/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Sentinel group as the rig breaks it: a master, two replicas and three sentinels, all real. Where
 * namespaces are possible each of the six is in one of its own, and so are the clients of two sides:
 * any of them can be cut off from any other. Without them all are on loopback, and are killed and
 * stopped only.
 */
#ifndef REDLOCK_CHAOS_GROUP_H
#define REDLOCK_CHAOS_GROUP_H

#include "network.h"
#include "servers.h"

#include <stdint.h>

enum {
    GROUP_SERVERS = 3,
    GROUP_SENTINELS = 3,
    GROUP_MEMBERS = GROUP_SERVERS + GROUP_SENTINELS, /* the servers first */
    GROUP_SIDES = 2,
    GROUP_PLACES = GROUP_MEMBERS + GROUP_SIDES, /* namespaces */
};

/* Masks of places. */
#define GROUP_ALL_SERVERS 0x07u
#define GROUP_ALL_SENTINELS 0x38u
#define GROUP_SIDE(side) (1u << (GROUP_MEMBERS + (side)))

struct group_term {
    int server; /* -1: none of ours, or no answer */
    int64_t epoch;
};

struct group {
    struct network *network;
    struct server member[GROUP_MEMBERS];
    bool stopped[GROUP_MEMBERS];
    bool persistent;
    char config[GROUP_MEMBERS][128];
    char url[256]; /* sentinel:// */
};

/*
 * Returns when a failover would find all that it needs. The first server is the master.
 * `persistent`: restarted servers have their keys. `skew_ms`: the clock of the second is so much ahead
 * of the first one's, that of the third as much behind.
 */
void group_start(struct group *g, struct network *network, bool persistent, int64_t skew_ms);
void group_stop(struct group *g);

/* Makes it the set of clients with this max_ttl, as `redlock init` does. What the library says. */
int group_admit(const struct group *g, int64_t max_ttl_ms);

/* False: the server has lost the set with all the rest. */
bool group_has_set(const struct group *g, int server);

/* What one sentinel says, and what a majority of those that run says. */
struct group_term group_said(const struct group *g, int sentinel);
struct group_term group_term(const struct group *g);

/* Of one of the six. A killed one keeps its configuration. */
void group_kill(struct group *g, int member);
void group_launch(struct group *g, int member);
void group_freeze(struct group *g, int member);
void group_thaw(struct group *g, int member);

/* SENTINEL FAILOVER, of this sentinel if it can, or of the next. False: they refuse. */
bool group_failover(const struct group *g, int sentinel);

/* Between them, what this process forks, and threads that it starts, are clients of that side. */
void group_enter_side(const struct group *g, int side);
void group_leave_side(const struct group *g);

#endif
