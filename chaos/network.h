/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real network, where root and iproute2 are there: the first nodes each in a network
 * namespace of its own behind a veth pair, so that links can go down and (with the netem module) lose, delay
 * and reorder packets under a real TCP. The process moves into a namespace of its own first:
 * nothing of the machine's network is touched, and everything is gone with the last process.
 */
#ifndef REDLOCK_CHAOS_NETWORK_H
#define REDLOCK_CHAOS_NETWORK_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>

struct network {
    bool ready; /* false: everything is on one loopback, behind proxies */
    bool netem;
    int home;            /* namespace of the nemesis and the workers */
    int node[NETWORKED]; /* namespaces of the nodes */
    char address[NETWORKED][32];
    char why[96]; /* why it is not ready, or cannot lose packets; else empty */
};

/* Before the process has threads, servers or reserved ports. */
void network_open(struct network *n);

/* What is forked in between lives in the node's namespace. */
void network_enter(const struct network *n, int node);
void network_leave(const struct network *n);

/* Where a server of the node that listens on `port` is reached. */
void network_url(const struct network *n, int node, int port, char *out, size_t size);

void network_down(const struct network *n, int node);
void network_loss(const struct network *n, int node, int percent);
void network_heal(const struct network *n, int node);

#endif
