/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parser makes of bytes, as one line of text, however the bytes were cut. */
#ifndef REDLOCK_TESTS_PARSE_TRACE_H
#define REDLOCK_TESTS_PARSE_TRACE_H

#include "http/parse.h"

#include <stddef.h>

#define TRACE_SIZE 512

/*
 * "GET /path fields=2", "PUT /path fields=4 body=[{}] last", "400 a sentence" or "more". Fails
 * the case if one byte at a time, or two pieces cut anywhere, give another line than all bytes
 * at once.
 */
void parse_trace(const char *bytes, size_t size, char *out);

#endif
