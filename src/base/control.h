/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk to the next control character of a text. */
#ifndef RL_BASE_CONTROL_H
#define RL_BASE_CONTROL_H

#include <stddef.h>

/* The first byte from `at` on that is below 0x20 or 0x7f, and no HTAB; or `end`. Eight bytes
 * at a time. */
size_t rl_find_control(const char *bytes, size_t at, size_t end);

#endif
