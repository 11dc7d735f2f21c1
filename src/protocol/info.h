/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the text that INFO answers. */
#ifndef RL_PROTOCOL_INFO_H
#define RL_PROTOCOL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/slice.h"

/* The value of "name:value"; empty when it is not there. */
struct rl_slice rl_info_field(struct rl_slice info, const char *name);

/* The same as a number; `otherwise` when it is not there or no number. */
int64_t rl_info_number(struct rl_slice info, const char *name, int64_t otherwise);

/* The same copied and terminated; empty when it does not fit. */
void rl_info_text(struct rl_slice info, const char *name, char *out, size_t size);

/* "redis 7.0.15" or "valkey 8.1.1"; *out is untouched when the text names no version. */
void rl_info_version(struct rl_slice info, char *out, size_t size);

#endif
