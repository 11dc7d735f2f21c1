/* SPDX-License-Identifier: BSD-2-Clause */
/* A Sentinel group: a master, its replicas, and the sentinels that appoint another master. */
#ifndef CLI_DEV_SENTINELS_H
#define CLI_DEV_SENTINELS_H

#include "dev/quorum.h"

#define DEV_GROUP "redlock"
#define DEV_GROUP_SERVERS 3
#define DEV_SENTINELS 3

/*
 * Writes the configuration files, once all ports are known. The first server is the master, and the
 * sentinels know each other and its replicas from the start. Returns 0 or an exit status with
 * `problem` filled (DEV_PROBLEM_MAX bytes).
 */
int dev_sentinels_configure(struct dev_quorum *q, char *problem);

/* Waits until a failover would find all that it needs. Returns as above. */
int dev_sentinels_await(struct dev_quorum *q, char *problem);

/* The server that a majority of the sentinels names; NULL: there is no such majority. */
struct dev_server *dev_sentinels_master(struct dev_quorum *q);

/* Has a replica promoted and waits until a majority names it. Returns as above. */
int dev_sentinels_failover(struct dev_quorum *q, char *problem);

/* "sentinel://127.0.0.1:20004+127.0.0.1:20005+127.0.0.1:20006/redlock" */
void dev_sentinels_url(const struct dev_quorum *q, char out[DEV_NODES_MAX]);

#endif
