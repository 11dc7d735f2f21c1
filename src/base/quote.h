/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign text as a message shows it: no control characters, no passwords. */
#ifndef RL_BASE_QUOTE_H
#define RL_BASE_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

#define RL_QUOTE_MAX 64       /* an argument or a value as an error message shows it */
#define RL_QUOTE_PATH_MAX 384 /* a path in a message: two fit into one */

/* Copies what fits, with characters that steer and broken UTF-8 as `?`: the words of a server
 * and the names of locks must not be able to drive the terminal. False when something was cut
 * off. */
bool rl_quote_safe(char *out, size_t size, const char *text);

/* An argument for an error message: safe, short, and without anything before an @, which may
 * be a password. */
void rl_quote(char out[RL_QUOTE_MAX], const char *text);

/* A path for an error message: safe, and in full unless it is long. A URL in its place, which
 * has a : before an @, loses what stands before the @. */
void rl_quote_path(char out[RL_QUOTE_PATH_MAX], const char *path);

#endif
