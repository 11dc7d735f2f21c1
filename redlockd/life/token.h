/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlockd token NAME`: a new bearer token, and its line for the file of tokens. */
#ifndef REDLOCKD_LIFE_TOKEN_H
#define REDLOCKD_LIFE_TOKEN_H

#include <stddef.h>

/* Prints both. 0, or -1 with a sentence in why: the name is none, or there is no randomness. */
int token_print(const char *name, char *why, size_t why_size);

#endif
