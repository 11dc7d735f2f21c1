/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON: one object per line, commas by itself. To a stream; or to memory, which grows to
 * the longest text and is used again, where a text is written for every request.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;   /* NULL: to memory */
    bool comma;  /* something stands before the next value at this level */
    bool failed; /* memory was short: the text is not whole */
    char *text;  /* the memory; `size` bytes of `capacity` are written */
    size_t size;
    size_t capacity;
};

/* Begins a text in memory anew. */
void json_restart(struct json *j);
/* Bytes that are no JSON, as they are, in front of or behind an object. */
void json_raw(struct json *j, const char *bytes, size_t size);

/* `key` is NULL inside arrays and at the top. */
void json_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_array(struct json *j, const char *key);
void json_end_array(struct json *j);

/* Any bytes: what is not UTF-8 becomes U+FFFD, and a character that could steer a terminal is
 * escaped. NULL becomes null. */
void json_string(struct json *j, const char *key, const char *value);
void json_integer(struct json *j, const char *key, int64_t value);
/* A negative number means "unknown" and becomes null. */
void json_known(struct json *j, const char *key, int64_t value);
/* A number with a fraction. */
void json_real(struct json *j, const char *key, double value);
/* To six digits; negative or not finite: unknown, null. */
void json_measured(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);

/* Ends the outermost object, and the line. */
void json_finish(struct json *j);

#endif
