/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers that know each other and appoint their masters themselves: a Sentinel group, or a
 * cluster. What both have in common is in group.c.
 */
#ifndef CLI_DEV_GROUP_H
#define CLI_DEV_GROUP_H

#include "dev/quorum.h"

#define DEV_VOTES_MAX 3

/* What a majority of those that appoint the masters reports. */
struct dev_view {
    const char *role[DEV_SERVERS_MAX]; /* "master", "replica", "sentinel" or "unknown" */
    int master_of[DEV_SERVERS_MAX];    /* its master, or the server itself; -1: unknown */
    int owner[DEV_VOTES_MAX];          /* the server of each vote; -1: unknown */
};

/* A kind of group. The first three are counts. */
struct dev_group {
    int servers, sentinels, votes;
    bool has_bus;           /* each server has two ports more, see bus.h */
    const char *option;     /* by which it is chosen: "--sentinel" */
    const char *electorate; /* "the sentinels" */

    /* Writes the configuration files, once ports and ids are known. Returns 0 or errno. */
    int (*configure)(struct dev_quorum *q);

    /* Whether the server has found all that a failover needs. */
    bool (*is_ready)(const struct dev_quorum *q, const struct dev_server *s);

    void (*look)(const struct dev_quorum *q, struct dev_view *out);

    /* Requests another master once. False: that was refused, and `words` are why. */
    bool (*depose)(const struct dev_quorum *q, const struct dev_view *view, int master,
                   char words[DEV_PROBLEM_MAX / 2]);

    /* What clients call it by. */
    void (*write_url)(const struct dev_quorum *q, char out[DEV_NODES_MAX]);
};

extern const struct dev_group dev_sentinels, dev_cluster;

/*
 * Draws ids, by which the members know each other from the start, and writes their files.
 * Returns 0 or an exit status with `problem` filled (DEV_PROBLEM_MAX bytes).
 */
int dev_group_configure(struct dev_quorum *q, char *problem);

/* Waits until a failover would find all that it needs. Returns as above. */
int dev_group_await(struct dev_quorum *q, char *problem);

/*
 * Has a replica take the place of a master and waits until a majority names it: `*master` is
 * that one then. Returns as above.
 */
int dev_group_failover(struct dev_quorum *q, int *master, char *problem);

/* For the kinds: whether the process can be queried. */
bool dev_group_can_answer(const struct dev_server *s);

/* And "SCHEME://127.0.0.1:20004+127.0.0.1:20005...TAIL", from server `first` on. */
void dev_group_url(const struct dev_quorum *q, const char *scheme, int first, const char *tail,
                   char out[DEV_NODES_MAX]);

#endif
