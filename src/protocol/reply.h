/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a server answered, decoded. Texts point into the bytes that were decoded and live as
 * long as those do. Arrays are flat: no command needs more, and a bound on depth is a bound on
 * what a hostile server can make us do.
 */
#ifndef RL_PROTOCOL_REPLY_H
#define RL_PROTOCOL_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define RL_REPLY_ELEMENTS_MAX 128

enum rl_reply_type {
    RL_REPLY_STATUS,
    RL_REPLY_ERROR,
    RL_REPLY_INTEGER,
    RL_REPLY_BULK,
    RL_REPLY_NIL,
    RL_REPLY_ARRAY,
};

struct rl_scalar {
    enum rl_reply_type type;
    int64_t integer;
    struct rl_slice text; /* STATUS, ERROR, BULK */
};

struct rl_reply {
    struct rl_scalar scalar;
    uint32_t element_count; /* ARRAY */
    struct rl_scalar element[RL_REPLY_ELEMENTS_MAX];
};

/* One number of an array reply; `otherwise` where there is none. */
static inline int64_t rl_reply_integer(const struct rl_reply *reply, uint32_t index,
                                       int64_t otherwise)
{
    if (index >= reply->element_count || reply->element[index].type != RL_REPLY_INTEGER)
        return otherwise;
    return reply->element[index].integer;
}

/* The server does not know the script (any more): the command must be sent with its text. */
static inline bool rl_reply_is_noscript(const struct rl_reply *reply)
{
    return reply->scalar.type == RL_REPLY_ERROR &&
           rl_slice_starts(reply->scalar.text, "NOSCRIPT");
}

/* ---- the text that INFO answers (info.c) ---- */

/* The value of "name:value"; empty when it is not there. */
struct rl_slice rl_info_field(struct rl_slice info, const char *name);

/* The same as a number; `otherwise` when it is not there or no number. */
int64_t rl_info_number(struct rl_slice info, const char *name, int64_t otherwise);

/* The same copied and terminated; empty when it does not fit. */
void rl_info_text(struct rl_slice info, const char *name, char *out, size_t size);

/* "redis 7.0.15" or "valkey 8.1.1"; *out is untouched when the text names no version. */
void rl_info_version(struct rl_slice info, char *out, size_t size);

#endif
