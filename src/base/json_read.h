/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON (RFC 8259) where it stands: no memory, no copy. Strict: well-formed UTF-8, no NUL
 * even as \u0000, no lone surrogate, integers that fit 64 bits. An object is read in one pass,
 * in which each member is seen, so that a reader can refuse those it does not know:
 *
 *     struct rl_json_reader reader = rl_json_read(text);
 *
 *     while (rl_json_next(&reader, &name, &value))
 *         ...
 *     if (reader.failed)
 *         it is no object, and what was read of it has no meaning
 *
 * or is checked as a whole, and then its members are found by name:
 *
 *     struct rl_json_value body = rl_json_whole(text);
 *     int64_t ttl_ms = rl_json_number(rl_json_member(body, "ttl_ms"), -1);
 */
#ifndef RL_BASE_JSON_READ_H
#define RL_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define RL_JSON_DEPTH_MAX 32 /* of objects and arrays in an object or array */

enum rl_json_type {
    RL_JSON_ABSENT, /* there is no value */
    RL_JSON_NULL,
    RL_JSON_BOOL,
    RL_JSON_INTEGER,
    RL_JSON_REAL,
    RL_JSON_TEXT,
    RL_JSON_OBJECT,
    RL_JSON_ARRAY,
};

struct rl_json_value {
    enum rl_json_type type;
    int64_t integer;      /* INTEGER; BOOL: 0 or 1 */
    struct rl_slice text; /* OBJECT, ARRAY, TEXT: as it stands there, without quotes */
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

/* The value that is the whole text; ABSENT: it is not JSON. */
struct rl_json_value rl_json_whole(struct rl_slice text);

/* The first member of an object that has this name; ABSENT: there is none. */
struct rl_json_value rl_json_member(struct rl_json_value object, const char *name);

/* The next element of an array: *rest is a copy of the array before the first. */
bool rl_json_element(struct rl_json_value *rest, struct rl_json_value *element);

/* A TEXT without its escapes: its length. -1: it has no room, and is cut at a character, or is
 * no TEXT, and `out` is empty. `size` is at least 1. */
int rl_json_text(struct rl_json_value value, char *out, size_t size);

/* An INTEGER; of anything else `otherwise`. */
int64_t rl_json_number(struct rl_json_value value, int64_t otherwise);

bool rl_json_true(struct rl_json_value value);

/* Is it this TEXT? */
bool rl_json_is(struct rl_json_value value, const char *word);

/* The only member of an object, which has this name: 1; 0: the object has others, or none;
 * -1: it is no object. */
int rl_json_sole(struct rl_slice text, const char *name, struct rl_json_value *value);

#endif
