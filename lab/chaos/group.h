/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers that appoint their masters themselves, as the rig breaks them: a master, two replicas
 * and three sentinels, or a cluster of three masters and three replicas, all real. Where
 * namespaces are possible each of the six is in one of its own, and so are the clients of two
 * sides: any of them can be cut off from any other. Without them all are on loopback, and are
 * killed and stopped only.
 */
#ifndef REDLOCK_CHAOS_GROUP_H
#define REDLOCK_CHAOS_GROUP_H

#include "network.h"
#include "schedule.h"
#include "servers.h"

#include <stdint.h>
#include <stdio.h>

enum {
    GROUP_MEMBERS = 6, /* the servers first */
    GROUP_SIDES = 2,
    GROUP_PLACES = GROUP_MEMBERS + GROUP_SIDES, /* namespaces */
    GROUP_VOTES_MAX = 3,
};

/* Masks of places. */
#define GROUP_SIDE(side) (1u << (GROUP_MEMBERS + (side)))

/* What an elector says of a vote. */
struct group_term {
    int server; /* -1: none of ours, or no answer */
    int64_t epoch;
};

struct group;

struct group_kind {
    int servers;           /* the others are sentinels */
    unsigned int electors; /* a mask of members */
    void (*describe)(const struct group *g, int member, FILE *out); /* its configuration */
    bool (*is_ready)(void *group);
    /*
     * `out` has terms without a server. Those that a cluster of one vote does not need are of
     * other slots, which makes all masters known.
     */
    void (*read_terms)(const struct group *g, int elector, struct group_term *out);
    bool (*fail_over)(const struct group *g, int elector, int master, enum failover how);
    const char *scheme, *tail; /* of the URL that names the electors */
};

extern const struct group_kind group_of_sentinels, group_of_nodes;

/* What is wanted. */
struct group_form {
    int votes;          /* of a cluster, 1 or 3; 0: a Sentinel group, which is one */
    bool persistent;    /* restarted servers have their keys */
    bool full_coverage; /* of a cluster: without one of its masters no other serves */
    int node_timeout_ms;
    int64_t skew_ms; /* of the second server's clock, and of the third's, which is behind */
};

struct group {
    const struct group_kind *kind;
    struct group_form form;
    int votes;
    struct network *network;
    struct server member[GROUP_MEMBERS];
    struct port bus[GROUP_MEMBERS]; /* of a cluster */
    bool stopped[GROUP_MEMBERS];
    char config[GROUP_MEMBERS][128];
    char url[256];
};

/* Returns when a failover would find all that it needs. */
void group_start(struct group *g, struct network *network, struct group_form form);
void group_stop(struct group *g);

/* Makes it the set of clients with this max_ttl, as `redlock init` does. What
 * the library says. */
int group_admit(const struct group *g, int64_t max_ttl_ms);

/* False: the server has lost the set with all the rest. */
bool group_has_set(const struct group *g, int vote, int server);

/* What a majority of the electors says of a vote, or of all of them. */
struct group_term group_term(const struct group *g, int vote);
void group_terms(const struct group *g, struct group_term out[GROUP_VOTES_MAX]);

/* Of one of the six. A killed one keeps its configuration. */
void group_kill(struct group *g, int member);
void group_launch(struct group *g, int member);
void group_freeze(struct group *g, int member);
void group_thaw(struct group *g, int member);

/* Of an elector if it can, or of the next. False: they refuse. */
bool group_failover(const struct group *g, int elector, int master, enum failover how);

/*
 * Moves the slot of a vote of a cluster from one master to another: the first call begins, with
 * part of the keys, the second ends it. False: it could not be done, and is undone as far as
 * possible.
 */
bool group_migrate_begin(const struct group *g, int vote, int from, int to);
bool group_migrate_end(const struct group *g, int vote, int from, int to);

/* Of a member of a cluster, as it says itself: its master, or the member if it is one. */
int group_master_of(const struct group *g, int member);

/* Between them, what this process forks, and threads that it starts, are clients
 * of that side. */
void group_enter_side(const struct group *g, int side);
void group_leave_side(const struct group *g);

/* For the kinds. */
const char *group_host(const struct group *g, int member);
void group_id(int member, char out[41]);
bool group_can_answer(const struct group *g, int member);

#endif
