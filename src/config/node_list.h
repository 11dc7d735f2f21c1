/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes as people write them: a list, or several with the name of a quorum before each.
 *
 *     host1,host2,host3
 *     east=host1,host2,host3;west=host4,host5,host6
 *
 * The same in --nodes, REDLOCK_NODES and the configuration file, all at once or piece by piece.
 */
#ifndef RL_CONFIG_NODE_LIST_H
#define RL_CONFIG_NODE_LIST_H

#include "config/config.h"

/* Adds what `text` names, or with `store` false only reads it. NULL or what is wrong with it. */
const char *rl_node_list_add(struct rl_config *c, const char *text, bool store);

/* INVAL if a quorum has too many nodes. */
int rl_node_list_check(const struct rl_config *c);

/* Fills c->arranged and c->quorums. */
void rl_node_list_arrange(struct rl_config *c);

#endif
