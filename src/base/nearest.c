/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/nearest.h"

#define WORD_MAX_BYTES 32 /* longer words are not worth guessing at */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance of two short words: insert, delete, replace, swap of neighbours. */
static size_t distance(struct rl_slice a, const char *b, size_t b_size)
{
    size_t d[WORD_MAX_BYTES + 1][WORD_MAX_BYTES + 1];

    for (size_t i = 0; i <= a.size; i++) {
        for (size_t j = 0; j <= b_size; j++) {
            char c = i > 0 ? rl_lower(a.data[i - 1]) : '\0';

            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = d[i - 1][j - 1] + (c == b[j - 1] ? 0 : 1);
            d[i][j] = smaller(d[i][j], d[i - 1][j] + 1);
            d[i][j] = smaller(d[i][j], d[i][j - 1] + 1);
            if (i > 1 && j > 1 && c == b[j - 2] && rl_lower(a.data[i - 2]) == b[j - 1])
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size][b_size];
}

/* A word that was only begun right is a good guess as well. */
static bool begins(struct rl_slice word, const char *name)
{
    return word.size >= 3 && strncmp(word.data, name, word.size) == 0;
}

const char *rl_nearest(struct rl_slice word, const char *const *names)
{
    size_t nearest_edits = word.size < 6 ? 2 : 3; /* what is further away is no help */
    const char *nearest = NULL;

    for (; word.size <= WORD_MAX_BYTES && *names; names++) {
        size_t size = strlen(*names), edits = nearest_edits;

        if (size <= WORD_MAX_BYTES)
            edits = distance(word, *names, size);
        if (edits > 1 && begins(word, *names))
            edits = 1;
        if (edits < nearest_edits) {
            nearest_edits = edits;
            nearest = *names;
        }
    }
    return nearest;
}
