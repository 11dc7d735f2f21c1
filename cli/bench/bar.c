/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/display.h"

#include <string.h>

#define EIGHTHS 8

size_t bar_write(char out[BAR_TEXT_MAX], double share, size_t columns, bool utf8, bool pad)
{
    static const char *const part[EIGHTHS + 1] = {
        "",
        "\xe2\x96\x8f",
        "\xe2\x96\x8e",
        "\xe2\x96\x8d",
        "\xe2\x96\x8c",
        "\xe2\x96\x8b",
        "\xe2\x96\x8a",
        "\xe2\x96\x89",
        "\xe2\x96\x88",
    };
    size_t steps = utf8 ? EIGHTHS : 1, used = 0;
    char *at = out;
    size_t left;
    if (columns > BAR_COLUMNS_MAX)
        columns = BAR_COLUMNS_MAX;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    left = (size_t)(share * (double)(columns * steps) + 0.5);
    if (left == 0 && share > 0 && columns > 0)
        left = 1;
    for (; left > 0; used++) {
        size_t now = left < steps ? left : steps;
        const char *piece = utf8 ? part[now] : "#";
        memcpy(at, piece, strlen(piece));
        at += strlen(piece);
        left -= now;
    }
    for (; pad && used < columns; used++)
        *at++ = ' ';
    *at = '\0';
    return used;
}
