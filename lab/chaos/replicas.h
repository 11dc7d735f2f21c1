/* SPDX-License-Identifier: BSD-2-Clause */
/* Replicas of redlockd, each a process on a unix socket of its own, that are killed,
 * drained and stopped. */
#ifndef REDLOCK_CHAOS_REPLICAS_H
#define REDLOCK_CHAOS_REPLICAS_H

#include "balancer.h"

#include <stddef.h>
#include <sys/types.h>

struct cluster;

struct replicas {
    char config[96]; /* file that names the nodes; empty: there are no replicas in this run */
    pid_t pid[REPLICAS];
    char log[REPLICAS][96];
    struct balancer balancer;
};

/* All of them are ready when it returns. */
void replicas_start(struct replicas *r, const struct cluster *cluster, bool strict,
                    uint64_t seed);
/* Fails if one did not end well, or said that a sanitizer found something. */
void replicas_stop(struct replicas *r);

/* Fails if one has ended that was not told to. */
void replicas_look(struct replicas *r);

/* For the nemesis. */
void replica_launch(struct replicas *r, int index);
void replica_kill(struct replicas *r, int index);
void replica_drain(struct replicas *r, int index);
void replica_await_end(struct replicas *r, int index); /* of one that drains: with status 0 */

#endif
