/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes as seen from the operating system: what they are, and the CPU they burn. */
#ifndef BENCH_SERVERS_H
#define BENCH_SERVERS_H

#include "options.h"
#include "redlock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

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

/* Servers of another kind than those of the run: `redlock dev` as a child process. */
struct quorum {
    pid_t pid; /* of redlock dev; it ends its servers when it gets TERM */
    FILE *output;
    char nodes_text[NODES_TEXT_MAX];
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

/* The path of the command `redlock`: beside this program's directory, else a word for PATH. */
const char *quorum_command(void);

/* Starts five servers of this program. 0, or -1 without them, silently: it may not exist. */
int quorum_start(struct quorum *quorum, const char *server);

void quorum_stop(struct quorum *quorum);

#endif
