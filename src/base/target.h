/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets of requests (RFC 3986): the path, a name inside it, and the parameters behind the
 * question mark.
 *
 * A name is decoded exactly once, and then refused or taken as it is, never normalised. A proxy
 * in front may rewrite a path: it removes ".." and doubled slashes, decodes %2F or %2e, encodes
 * what it likes. A name which such rewriting could change into another name would be one
 * name to the client and another to the server, so those names do not exist:
 *     empty; empty segments and a slash at either end; the segments "." and "..";
 *     controls; a backslash (some proxies make a slash of it); a percent sign after decoding
 *     (a second decoding would read on). ASCII only, unless its caller allows more: then
 *     well-formed UTF-8, compared byte by byte, and no control of it either.
 */
#ifndef RL_BASE_TARGET_H
#define RL_BASE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/* Splits a target at its first question mark. Without one the query is empty. */
void rl_target_split(struct rl_slice target, struct rl_slice *path, struct rl_slice *query);

/* True if `path` begins with `prefix`; *rest is what is behind it, untouched otherwise. */
static inline bool rl_target_below(struct rl_slice path, const char *prefix,
                                   struct rl_slice *rest)
{
    size_t length = strlen(prefix);

    if (path.size < length || memcmp(path.data, prefix, length) != 0)
        return false;
    *rest = (struct rl_slice){path.data + length, path.size - length};
    return true;
}

/*
 * Decodes a name into out, with a terminating NUL. Returns NULL, or why it is refused as a
 * sentence that names what to do; out then has no meaning. The size of out bounds the name.
 */
const char *rl_target_name(struct rl_slice encoded, bool allow_utf8, char *out, size_t size);

/* Results of rl_target_query_get() besides the length of a value. */
#define RL_TARGET_ABSENT (-1)
#define RL_TARGET_BAD (-2) /* twice, too long, a broken %XX, a control, or a plus sign */

/*
 * The decoded value of a parameter, NUL-terminated in out: its length, or one of the above. A
 * parameter without "=" has an empty value. A plus sign means a blank to one half of the world
 * and itself to the other half, and is refused: %20 and %2B are clear.
 */
int rl_target_query_get(struct rl_slice query, const char *name, char *out, size_t size);

/* A parameter that is a number from `least` to `most`: 0, or one of the above
 * and *number untouched. */
int rl_target_query_number(struct rl_slice query, const char *name, unsigned least,
                           unsigned most, unsigned *number);

/* True if every parameter is one of `names`, a list ended by NULL: a misspelt one must
 * not be ignored. */
bool rl_target_query_only(struct rl_slice query, const char *const *names);

#endif
