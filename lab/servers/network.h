/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real network, where root and iproute2 are there: the first nodes each in a network
 * namespace of its own behind a veth pair, so that links can go down and (with the netem
 * module) lose, delay and reorder packets under a real TCP. The process moves into a namespace
 * of its own first: nothing of the machine's network is touched, and everything is gone with
 * the last process.
 *
 * That namespace routes between the others, and can drop what one of them sends to another, in
 * one direction or in both.
 */
#ifndef REDLOCK_CHAOS_NETWORK_H
#define REDLOCK_CHAOS_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

enum { NETWORKED_MAX = 8 };

struct network {
    bool ready; /* false: everything is on one loopback, behind proxies */
    bool netem;
    int home; /* namespace of the nemesis, and of workers that have no other */
    int count;
    int node[NETWORKED_MAX]; /* namespaces of the nodes */
    char address[NETWORKED_MAX][32];
    int blocked[NETWORKED_MAX][NETWORKED_MAX]; /* by so many faults: from, to */
    char why[96]; /* why it is not ready, or cannot lose packets; else empty */
};

/* `count` namespaces. Before the process has threads, servers or reserved ports. */
void network_open(struct network *n, int count);

/* What is forked in between lives in the node's namespace. */
void network_enter(const struct network *n, int node);
void network_leave(const struct network *n);

/* Where a server of the node that listens on `port` is reached. */
void network_url(const struct network *n, int node, int port, char *out, size_t size);

void network_down(const struct network *n, int node);
void network_loss(const struct network *n, int node, int percent);
void network_heal(const struct network *n, int node);

/*
 * Drops every packet that a node of the mask `from` sends to one of `to`, silently, until it
 * has been unblocked as often as it was blocked.
 */
void network_block(struct network *n, unsigned int from, unsigned int to);
void network_unblock(struct network *n, unsigned int from, unsigned int to);

#endif
