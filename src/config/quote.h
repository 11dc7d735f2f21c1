/* SPDX-License-Identifier: BSD-2-Clause */
/* What the configuration says, in messages: without control characters and without passwords. */
#ifndef RL_CONFIG_QUOTE_H
#define RL_CONFIG_QUOTE_H

#define RL_QUOTE_MAX 64       /* a value as an error message shows it */
#define RL_QUOTE_PATH_MAX 384 /* a path: two fit into one message */

/* A value: short, and without anything before an @, which may be a password. */
void rl_quote(char out[RL_QUOTE_MAX], const char *text);

/* A path, in full unless it is long. A URL in its place, which has a : before an @, loses what
 * stands before the @. */
void rl_quote_path(char out[RL_QUOTE_PATH_MAX], const char *path);

#endif
