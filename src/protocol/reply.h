/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a server answered, decoded. Texts point into the bytes that were decoded and live as
 * long as those do. Arrays are flat: no recipe needs more, and a bound on depth is a bound on
 * what a hostile server can make us do.
 */
#ifndef RL_PROTOCOL_REPLY_H
#define RL_PROTOCOL_REPLY_H

#include <stddef.h>
#include <stdint.h>

#define RL_REPLY_ELEMENTS_MAX 128

enum rl_reply_type {
    RL_REPLY_STATUS,
    RL_REPLY_ERROR,
    RL_REPLY_INTEGER,
    RL_REPLY_BULK,
    RL_REPLY_NIL,
    RL_REPLY_ARRAY,
};

struct rl_slice {
    const char *data;
    size_t size;
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

#endif
