/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/scheme.h"

#include <stdio.h>

#define NAME_MAX_BYTES 16 /* longer words are not compared, and not repeated in a message */
#define NEAR_EDITS 2

static const struct rl_scheme schemes[] = {
    {"redis", false, false},  {"rediss", true, false},  {"unix", false, true},
    {"valkey", false, false}, {"valkeys", true, false},
};
#define SCHEME_COUNT (sizeof schemes / sizeof schemes[0])

const struct rl_scheme *rl_scheme_find(struct rl_span name)
{
    for (size_t i = 0; i < SCHEME_COUNT; i++) {
        if (rl_span_is(name, schemes[i].name)) {
            return &schemes[i];
        }
    }
    return NULL;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance of two short words: insert, delete, replace, swap of neighbours. */
static int distance(struct rl_span a, const char *b)
{
    int d[NAME_MAX_BYTES + 1][NAME_MAX_BYTES + 1];
    size_t b_length = strlen(b);

    for (size_t i = 0; i <= a.length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (int)(i + j);
                continue;
            }
            char c = rl_lower(a.at[i - 1]);
            int best = d[i - 1][j - 1] + (c == b[j - 1] ? 0 : 1);
            best = smaller(best, d[i - 1][j] + 1);
            best = smaller(best, d[i][j - 1] + 1);
            if (i > 1 && j > 1 && c == b[j - 2] && rl_lower(a.at[i - 2]) == b[j - 1]) {
                best = smaller(best, d[i - 2][j - 2] + 1);
            }
            d[i][j] = best;
        }
    }
    return d[a.length][b_length];
}

void rl_scheme_explain(struct rl_span name, char *why, size_t why_size)
{
    if (name.length > NAME_MAX_BYTES || !rl_span_only(name, "+-.")) {
        snprintf(why, why_size, "what stands before '://' must be redis, rediss (TLS) or unix");
        return;
    }
    const char *nearest = NULL;
    int nearest_edits = NEAR_EDITS + 1;
    for (size_t i = 0; i < SCHEME_COUNT; i++) {
        int edits = distance(name, schemes[i].name);
        if (edits < nearest_edits) {
            nearest_edits = edits;
            nearest = schemes[i].name;
        }
    }
    if (nearest != NULL) {
        snprintf(why, why_size, "unknown scheme '%.*s://': did you mean %s://?",
                 (int)name.length, name.at, nearest);
    } else {
        snprintf(why, why_size,
                 "unknown scheme '%.*s://': use redis://, rediss:// (TLS) or unix://",
                 (int)name.length, name.at);
    }
}
