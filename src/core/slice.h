/* SPDX-License-Identifier: BSD-2-Clause */
/* A text of known size in memory that it does not own, not terminated. */
#ifndef RL_CORE_SLICE_H
#define RL_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rl_slice {
    const char *data;
    size_t size;
};

static inline bool rl_slice_starts(struct rl_slice slice, const char *text)
{
    size_t size = strlen(text);

    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

static inline bool rl_slice_equals(struct rl_slice slice, const char *text)
{
    return slice.size == strlen(text) && rl_slice_starts(slice, text);
}

/* FNV-1a of 64 bits. */
static inline uint64_t rl_slice_hash(struct rl_slice text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3u;
    return hash;
}

/* Copies the text; returns what is behind it. */
static inline char *rl_slice_append(char *at, struct rl_slice text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

#endif
