/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the nodes have received, sent and executed by their own count. Asking adds to that, but
 * by an amount that is known to the byte and taken off again.
 */
#ifndef REDLOCK_TESTS_COST_NODES_H
#define REDLOCK_TESTS_COST_NODES_H

#include "servers.h"

struct node_counts {
    long long bytes_in;  /* from clients */
    long long bytes_out; /* to clients */
    long long commands;  /* executed, within scripts too */
    char text[4096];     /* "name calls" per line */
};

struct node_eyes;

struct node_eyes *node_eyes_open(const struct server *server);

/* Counts since the last call; the first one answers nothing of use. */
void node_eyes_look(struct node_eyes *eyes, struct node_counts *out);

#endif
