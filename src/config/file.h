/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file, redlock.conf(5): lines of `key = value`, where a key is a long option of
 * the command without its dashes. A # at the start of a line or after a space begins a comment.
 */
#ifndef RL_CONFIG_FILE_H
#define RL_CONFIG_FILE_H

#include "config/config.h"
#include "config/quote.h"

#define RL_LOOKED_MAX (RL_QUOTE_PATH_MAX + 32)

/*
 * Finds the file (c->file, REDLOCK_CONFIG, the user's, the system's) and applies it to what is
 * still open in `c`. OK also when there is none; an error names file and line. `looked` becomes
 * the file that was read, or those that were looked for.
 */
int rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX]);

#endif
