/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers of another kind than those of the run: `redlock dev` as a child process. */
#ifndef BENCH_QUORUM_H
#define BENCH_QUORUM_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "options.h"

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
