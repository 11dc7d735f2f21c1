/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes as people write them: a list, or several with the name of a quorum before each.
 *
 *     host1,host2,host3
 *     east=host1,host2,host3;west=host4,host5,host6
 *
 * The same in --nodes, REDLOCK_NODES and the configuration file, all at once or piece by piece.
 */
#ifndef CLI_QUORUMS_H
#define CLI_QUORUMS_H

#include <redlock.h>
#include <stdbool.h>

struct settings;

/* Adds what `text` names, or with `store` false only reads it. NULL or what is wrong with it. */
const char *quorums_add(struct settings *s, const char *text, bool store);

/* Too many nodes? Returns 0 or an exit status, after saying where. */
int quorums_check(const struct settings *s);

/*
 * The nodes in the order of their quorums, and the quorums; both arrays must live as long as the
 * options that they are put into. The number of quorums; 0: the nodes have none.
 */
size_t quorums_arrange(const struct settings *s, const char **nodes, redlock_quorum *quorums);

/* The name of a quorum; "" for the nodes of a configuration without quorums. */
void quorums_name(redlock *client, size_t index, char out[REDLOCK_QUORUM_MAX + 1]);

#endif
