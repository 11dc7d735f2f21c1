/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the JSON of a service without allocating: a value is a place in the text, and what is
 * not there, or of another type, is empty, 0 or -1, so that callers need not ask first. The
 * text is checked once, as a whole, and is not trusted: depth and size are bounded.
 */
#ifndef CLI_SERVICE_JSON_READ_H
#define CLI_SERVICE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_READ_DEPTH_MAX 16

/* A value inside a text that was checked; at NULL: there is none. */
struct json_value {
    const char *at, *end;
};

/* The value of the whole text; none if it is not JSON. */
struct json_value json_read(const char *text, size_t size);

/* The member of an object. */
struct json_value json_member(struct json_value object, const char *name);

/* The elements of an array, one after the other: *next is a copy of the array
 * before the first. */
bool json_next(struct json_value *next, struct json_value *element);

/* The text of a string, with its escapes undone, cut to `size`; of anything else "".
 * False: no string. */
bool json_text(struct json_value value, char *out, size_t size);
/* A number without a fraction; `otherwise` if it is none. */
int64_t json_number(struct json_value value, int64_t otherwise);
bool json_true(struct json_value value);

#endif
