/* SPDX-License-Identifier: BSD-2-Clause */
/* Replicas of redlockd, each a process on a unix socket of its own, that are killed,
 * drained and stopped. */
#ifndef REDLOCK_CHAOS_REPLICAS_H
#define REDLOCK_CHAOS_REPLICAS_H

#include "names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What stands between HTTP clients and the replicas of redlockd, and is not kind: each request
 * goes to any replica. While it is lossy every tenth answer is dropped, requests are sent
 * twice, both ways are delayed, and the end of a client is sometimes hidden from the replica.
 */
struct balancer_switches {
    _Atomic int lossy;
    _Atomic int pid[REPLICAS];           /* for the kills below; 0: none */
    _Atomic int kill_at_grant[REPLICAS]; /* 1: kill -9 at its next 201, which is dropped */
    _Atomic long requests, dropped, doubled, delayed, hidden, killed;
    _Atomic long streams, returned; /* straight to a replica: granted, and come back */
};

struct balancer {
    pid_t helper;
    int listener; /* in the helper */
    uint64_t seed;
    char path[96]; /* where clients connect */
    char replica[REPLICAS][96];
    struct balancer_switches *switches;
};

/* The paths of the replicas are set. */
void balancer_start(struct balancer *b, const char *dir, uint64_t seed);
void balancer_stop(struct balancer *b);

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

/* Fails if one has ended that was not to. */
void replicas_look(struct replicas *r);

/* For the nemesis. */
void replica_launch(struct replicas *r, int index);
void replica_kill(struct replicas *r, int index);
void replica_drain(struct replicas *r, int index);
void replica_await_end(struct replicas *r, int index); /* of one that drains: with status 0 */

#endif
