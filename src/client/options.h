/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what callers pass in: sizes, defaults, bounds, each with its own complaint. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "redlock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies what the caller gave, zero where its header is older; flags are checked. */
int rl_options_read(const redlock_options *given, redlock_options *out);

/* Puts defaults in place of zeros and checks bounds, once nothing is missing any more. */
int rl_options_check(redlock_options *o);

/* Structs that callers fill, and structs that are filled for them. */
int rl_struct_read(const char *what, const void *given, size_t given_size, void *out,
                   size_t known_size);
int rl_struct_check(const char *what, const void *out);
void rl_struct_fill(void *out, const void *known, size_t known_size);

#endif
