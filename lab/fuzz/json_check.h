/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command prints, for programs and for people. */
#ifndef REDLOCK_FUZZ_JSON_CHECK_H
#define REDLOCK_FUZZ_JSON_CHECK_H

#include <stdbool.h>

/* Is this one well-formed value, as harmless as below, and a newline? */
bool json_is_line(const char *text);

/* Is this text that cannot drive a terminal: UTF-8 without controls other than newlines? */
bool text_is_harmless(const char *text);

#endif
