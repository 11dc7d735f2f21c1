/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/span.h"

#define WORD_MAX_BYTES 32 /* longer words are not worth guessing at */
#define NEAR_EDITS 2

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance of two short words: insert, delete, replace, swap of neighbours. */
static int distance(struct rl_span a, const char *b)
{
    int d[WORD_MAX_BYTES + 1][WORD_MAX_BYTES + 1];
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
            if (i > 1 && j > 1 && c == b[j - 2] && rl_lower(a.at[i - 2]) == b[j - 1])
                best = smaller(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[a.length][b_length];
}

const char *rl_nearest(struct rl_span word, const char *const *names)
{
    const char *nearest = NULL;
    int nearest_edits = NEAR_EDITS + 1;

    for (; word.length <= WORD_MAX_BYTES && *names; names++) {
        int edits = strlen(*names) <= WORD_MAX_BYTES ? distance(word, *names) : nearest_edits;

        if (edits < nearest_edits) {
            nearest_edits = edits;
            nearest = *names;
        }
    }
    return nearest;
}
