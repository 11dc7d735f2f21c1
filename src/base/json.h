/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON: one object per line, commas by itself. To a stream; or to memory, which grows to
 * the longest text and is used again, where a text is written for every request.
 */
#ifndef RL_BASE_JSON_H
#define RL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rl_json {
    FILE *out;   /* NULL: to memory */
    bool comma;  /* something stands before the next value at this level */
    bool failed; /* memory was short: the text is not whole */
    char *text;  /* the memory; `size` bytes of `capacity` are written */
    size_t size;
    size_t capacity;
};

/* Begins a text in memory anew. */
void rl_json_restart(struct rl_json *j);
/* Bytes that are no JSON, as they are, in front of or behind an object. */
void rl_json_raw(struct rl_json *j, const char *bytes, size_t size);

/* `key` is NULL inside arrays and at the top. */
void rl_json_object(struct rl_json *j, const char *key);
void rl_json_end_object(struct rl_json *j);
void rl_json_array(struct rl_json *j, const char *key);
void rl_json_end_array(struct rl_json *j);

/* Any bytes: what is not UTF-8 becomes U+FFFD, and a character that could steer a terminal is
 * escaped. NULL becomes null. */
void rl_json_string(struct rl_json *j, const char *key, const char *value);
void rl_json_integer(struct rl_json *j, const char *key, int64_t value);
/* A negative number means "unknown" and becomes null. */
void rl_json_known(struct rl_json *j, const char *key, int64_t value);
/* A number with a fraction. */
void rl_json_real(struct rl_json *j, const char *key, double value);
/* To six digits; negative or not finite: unknown, null. */
void rl_json_measured(struct rl_json *j, const char *key, double value);
void rl_json_bool(struct rl_json *j, const char *key, bool value);

/* Ends the outermost object, and the line. */
void rl_json_finish(struct rl_json *j);

#endif
