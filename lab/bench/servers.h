/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes as seen from the operating system: what they are, and the CPU they burn. */
#ifndef BENCH_SERVERS_H
#define BENCH_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "redlock.h"

struct servers {
    const char *url[REDLOCK_NODES_MAX]; /* borrowed */
    size_t count;
    size_t quorum;
    bool local;                         /* all are processes of this machine */
    pid_t pid[REDLOCK_NODES_MAX];       /* of the processes, if local */
    clockid_t clock[REDLOCK_NODES_MAX]; /* their CPU clocks, if local */
    char version[48];                   /* of the first: "redis 7.0.15" */
};

/*
 * Asks every node for its version and process. Returns 0, or -1 with a message on stderr when
 * one does not answer: a benchmark against fewer nodes than configured would mislead.
 */
int servers_find(struct servers *servers, const char *const *urls, size_t count);

/* CPU seconds of all nodes since they started; negative when unknown. */
double servers_cpu_s(const struct servers *servers);

#endif
