/* SPDX-License-Identifier: BSD-2-Clause */
/* Where settings come from, for config.c and load.c. */
#ifndef RL_CONFIG_SOURCES_H
#define RL_CONFIG_SOURCES_H

#include "base/quote.h"
#include "config/config.h"

/*
 * ---- file.c: the configuration file, redlock.conf(5) ----
 *
 * Lines of `key = value`, where a key is a long option of the command without its dashes. A #
 * at the start of a line or after a space begins a comment.
 */

#define RL_LOOKED_MAX (RL_QUOTE_PATH_MAX + 32)

/*
 * Finds the file (c->file, REDLOCK_CONFIG, the user's, the system's) and applies it to what is
 * still open in `c`. OK also when there is none; an error names file and line. `looked` becomes
 * the file that was read, or those that were looked for.
 */
int rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX]);

/*
 * ---- node_list.c: nodes as people write them ----
 *
 * A list, or several with the name of a quorum before each.
 *
 *     host1,host2,host3
 *     east=host1,host2,host3;west=host4,host5,host6
 *
 * The same in --nodes, REDLOCK_NODES and the configuration file, all at once or piece by piece.
 */

/* Adds what `text` names, or with `store` false only reads it. NULL or what is wrong. */
const char *rl_node_list_add(struct rl_config *c, const char *text, bool store);
/* INVAL if a quorum has too many nodes. */
int rl_node_list_check(const struct rl_config *c);
/* Fills c->arranged and c->quorums. */
void rl_node_list_arrange(struct rl_config *c);

/* ---- trust.c: files that decide which servers are used, or that hold a secret ---- */

/*
 * Judges the open file `path` by its owner and mode; `what` is what it is to us ("the
 * configuration file"). INVAL if a user other than root and this one can write to it. Only
 * regular files are judged: a pipe or a terminal has no mode that would mean anything.
 */
int rl_trust_check(const char *what, const char *path, int fd);
/*
 * Warns if other users can read the file, in which `secret` stands ("a password"). A file of
 * root that its group can read is the usual way to hand a secret to a service.
 */
void rl_trust_warn(struct rl_config *c, const char *secret, const char *path, int fd);

#endif
