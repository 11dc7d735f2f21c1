/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of nodes (G8): what `redlock init` writes, first as pending and then for good, node by
 * node with delays. Clients with other nodes, the strangers, must never hold a lock beside
 * another.
 */
#ifndef SIM_SETS_H
#define SIM_SETS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_world;
struct sim_client;
struct sim_node;

/* The nodes know their set from the start, if they have one. */
void sim_sets_begin(struct sim_world *world);
/* A new set of all nodes, in the midst of everything. */
void sim_sets_init(struct sim_world *world);
/* That set, for good, on this node: an operator restores what it has forgotten. */
void sim_sets_write(struct sim_world *world, struct sim_node *node, uint32_t number);
/* The calm: an operator has looked after them, and no client is a stranger any more. */
void sim_sets_end(struct sim_world *world);

bool sim_is_stranger(const struct sim_world *world, const struct sim_client *client);
/* How many nodes this client has. */
uint8_t sim_client_node_count(const struct sim_world *world, const struct sim_client *client);
/* The i-th of them. */
struct sim_node *sim_client_node(struct sim_world *world, const struct sim_client *client,
                                 uint8_t i);

#endif
