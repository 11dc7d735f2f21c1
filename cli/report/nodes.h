/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes as users see them: their connections and their answers to a ping, as rows or as
 * JSON.
 */
#ifndef CLI_NODES_H
#define CLI_NODES_H

#include <redlock.h>
#include <stdbool.h>
#include <stdio.h>

#include "settings/settings.h"
#include "ui/table.h"

struct rl_json;

/* The library's word for an enum redlock_node_state. */
const char *node_state_text(int32_t state);

/* How many nodes answered a ping, and how many of a quorum have a vote that counts now. */
uint32_t nodes_answered(const redlock_report *ping);
uint32_t nodes_voting(redlock *member, const redlock_report *ping);

/*
 * The nodes of a quorum, a row each, as redlock_ping() has found them; `brief`: with its name,
 * and without what hardly ever changes.
 */
void nodes_begin(struct table *t);
void nodes_rows(struct table *t, const struct settings *s, redlock *member,
                const redlock_report *ping, bool brief);

/* An object for each in the array being written; `named`: with the name of their quorum. */
void nodes_json(redlock *member, const redlock_report *ping, bool named, struct rl_json *j);

/*
 * What the nodes of the quorum are and what they promise, in a line; of independent servers
 * only with --verbose.
 */
void guarantee_print(const struct settings *s, redlock *member, FILE *out);
/* The server and the sentinels of a Sentinel group, with their terms. */
void sentinels_print(const redlock_node_info *node, FILE *out);

#endif
