/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in decimal digits. */
#ifndef RL_BASE_NUMBER_H
#define RL_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Digits alone, of a number up to `most`; -1: it is none. */
int64_t rl_number_read(struct rl_slice text, int64_t most);

/* The same behind "-", too, over the whole range of int64_t. False: it is none. */
bool rl_integer_read(struct rl_slice text, int64_t *out);

/* At most 20 digits, not terminated; returns the end. */
char *rl_number_write(uint64_t value, char *out);

/* How many digits that are. */
size_t rl_number_size(uint64_t value);

#endif
