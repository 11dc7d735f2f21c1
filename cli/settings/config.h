/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file: lines of `key = value`, where a key is a long option without its
 * dashes. A # at the start of a line or after a blank begins a comment.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

struct settings;

/*
 * Finds the file (--config, REDLOCK_CONFIG, the user's, the system's) and applies it to what
 * is still open in `s`. Returns 0, also when there is none, or an exit status after a message
 * with file and line.
 */
int config_load(struct settings *s);

#endif
