/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands between HTTP clients and the replicas of redlockd, and is not kind: each request
 * goes to any replica. While it is lossy every tenth answer is dropped, requests are sent
 * twice, both ways are delayed, and the end of a client is sometimes hidden from the replica.
 */
#ifndef REDLOCK_CHAOS_BALANCER_H
#define REDLOCK_CHAOS_BALANCER_H

#include "names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
