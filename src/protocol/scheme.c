/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/scheme.h"

#include <stdio.h>

#include "protocol/nearest.h"

#define NAME_MAX_BYTES 16 /* longer words are not repeated in a message */

static const struct rl_scheme schemes[] = {
    {"redis", false, false},  {"rediss", true, false},  {"unix", false, true},
    {"valkey", false, false}, {"valkeys", true, false},
};
#define SCHEME_COUNT (sizeof schemes / sizeof schemes[0])

const struct rl_scheme *rl_scheme_find(struct rl_span name)
{
    for (size_t i = 0; i < SCHEME_COUNT; i++)
        if (rl_span_is(name, schemes[i].name))
            return &schemes[i];
    return NULL;
}

void rl_scheme_explain(struct rl_span name, char *why, size_t why_size)
{
    if (name.length > NAME_MAX_BYTES || !rl_span_only(name, "+-.")) {
        snprintf(
            why, why_size,
            "what stands before '://' must be redis, rediss (TLS), valkey, valkeys (TLS) or unix");
        return;
    }
    const char *names[SCHEME_COUNT + 1] = {NULL};
    for (size_t i = 0; i < SCHEME_COUNT; i++)
        names[i] = schemes[i].name;
    const char *nearest = rl_nearest(name, names);
    if (nearest) {
        snprintf(why, why_size, "unknown scheme '%.*s://': did you mean %s://?",
                 (int)name.length, name.at, nearest);
    } else {
        snprintf(
            why, why_size,
            "unknown scheme '%.*s://': use redis:// or valkey://, rediss:// or valkeys:// (TLS), unix://",
            (int)name.length, name.at);
    }
}
