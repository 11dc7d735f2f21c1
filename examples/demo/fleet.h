/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The servers of the demo: watched through the library, killed and started through the
 * command `redlock dev` that runs them.
 */
#ifndef DEMO_FLEET_H
#define DEMO_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "redlock.h"

struct fleet {
    size_t count;
    redlock *client; /* watches; NULL: not open */
    bool up[REDLOCK_NODES_MAX];
    bool quarantined[REDLOCK_NODES_MAX];      /* up, but its votes do not count yet */
    int64_t quarantine_ms[REDLOCK_NODES_MAX]; /* for how long; -1 unknown */
    char label[REDLOCK_NODES_MAX][16];        /* ":6379", or "" */
    char command[4096];                       /* the redlock executable */
};

/* Finds the servers that `redlock dev` has started. 0, or -1 with a message on stderr. */
int fleet_find(struct fleet *fleet);

/* Starts and ends watching; to be done in no process that forks workers meanwhile. */
int fleet_watch(struct fleet *fleet);
void fleet_unwatch(struct fleet *fleet);

/* Brings up[] up to date; returns how many are. */
size_t fleet_look(struct fleet *fleet);

/* Runs `redlock dev VERB NUMBER` (from 1) in the background; its pid, or -1 with errno set. */
pid_t fleet_command(const struct fleet *fleet, const char *verb, size_t number);

#endif
