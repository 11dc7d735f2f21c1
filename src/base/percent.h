/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as one word: what is neither letter nor digit is written as %XX. */
#ifndef RL_BASE_PERCENT_H
#define RL_BASE_PERCENT_H

#include <stddef.h>

/* `plain`: further characters that stay as they are, without %. Returns the end of what was
 * written, at most three bytes for each, and a terminator. */
char *rl_percent_encode(char *out, const char *text, const char *plain);

/* Back to what that was given, as far as it fits; a % that begins no %XX stays.
 * Returns its length. */
size_t rl_percent_decode(const char *text, size_t length, char *out, size_t size);

#endif
