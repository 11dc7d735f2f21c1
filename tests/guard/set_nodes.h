/* SPDX-License-Identifier: BSD-2-Clause */
/* Some of the nodes of a cluster, and what they say of their set. */
#ifndef REDLOCK_TESTS_SET_NODES_H
#define REDLOCK_TESTS_SET_NODES_H

#include "client.h"

#define A3 "aaaaaaaaaaaaaaaa:0000000000000001/3"
#define B3 "bbbbbbbbbbbbbbbb:0000000000000001/3"

/* Nodes [first, first + count). */
redlock_options options_of(const struct cluster *c, size_t first, size_t count);
/* A client of them, all of them connected. */
redlock *open_nodes(const struct cluster *c, size_t first, size_t count, uint32_t flags);
int init_nodes(const struct cluster *c, size_t first, size_t count);

const char *set_of(const struct cluster *c, size_t node);
void write_set(const struct cluster *c, size_t node, const char *set);
/* What a client sends to a node that has forgotten the set of node 0. */
void restored_set(const struct cluster *c, char out[96]);

/* Tries until the outcome is this one; fails the case after 10 s. */
void await_outcome(redlock *r, int64_t ttl_ms, int expected);

#endif
