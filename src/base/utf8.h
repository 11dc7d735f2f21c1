/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters of UTF-8, and which of them a terminal should not get. */
#ifndef RL_BASE_UTF8_H
#define RL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sequence at `text` (1 to 4), or 0 when there is none. */
size_t rl_utf8_length(const char *text);

/* The character that `size` bytes begin with: its bytes, and *code; 0: it is not well-formed. A
 * NUL is a character here. */
size_t rl_utf8_read(const char *text, size_t size, uint32_t *code);

/* The bytes of a character; how many. */
size_t rl_utf8_write(uint32_t code, char out[4]);

/* The code point of such a sequence of `length` bytes. */
uint32_t rl_utf8_code(const char *text, size_t length);

/* Does this character steer a terminal, end a line or change the direction of writing? A name
 * with one of them in it could be shown as another name. */
bool rl_utf8_steers(uint32_t code);

#endif
