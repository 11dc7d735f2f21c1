/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads one JSON object (RFC 8259), member by member, where it stands: no memory, no copy.
 * Strict: well-formed UTF-8, no NUL even as \u0000, no lone surrogate, integers that fit 64
 * bits. Members that are objects or arrays are checked and passed over.
 *
 *     struct rl_json_reader reader = rl_json_read(text);
 *
 *     while (rl_json_next(&reader, &name, &value))
 *         ...
 *     if (reader.failed)
 *         it is no object, and what was read of it has no meaning
 */
#ifndef RL_BASE_JSON_READ_H
#define RL_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define RL_JSON_DEPTH_MAX 32 /* of objects and arrays in the object */

enum rl_json_type {
    RL_JSON_ABSENT, /* a value that was never read */
    RL_JSON_NULL,
    RL_JSON_BOOL,
    RL_JSON_INTEGER,
    RL_JSON_REAL,
    RL_JSON_TEXT,
    RL_JSON_NESTED, /* an object or array */
};

struct rl_json_value {
    enum rl_json_type type;
    int64_t integer;      /* INTEGER; BOOL: 0 or 1 */
    struct rl_slice text; /* TEXT: between its quotes, as it stands there */
};

struct rl_json_reader {
    const char *at, *end; /* what is left */
    bool has_begun;
    bool failed;
};

struct rl_json_reader rl_json_read(struct rl_slice text);

/* The next member, its name as a TEXT. False: there is none, or reader->failed. */
bool rl_json_next(struct rl_json_reader *reader, struct rl_json_value *name,
                  struct rl_json_value *value);

/* A TEXT without its escapes, terminated: its length. -1: it has no room, or is no TEXT. */
int rl_json_text(const struct rl_json_value *value, char *out, size_t size);

/* Is it this TEXT? */
bool rl_json_is(const struct rl_json_value *value, const char *word);

/* The only member of an object, which has this name: 1; 0: the object has others, or none;
 * -1: it is no object. */
int rl_json_sole(struct rl_slice text, const char *name, struct rl_json_value *value);

#endif
