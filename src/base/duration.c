/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/duration.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t unit_ms;
} units[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *rl_duration_parse(const char *text, int64_t *out_ms)
{
    static const char shape[] =
        "is not a duration: write seconds (2.5) or a number with ms, s, m, h or d (250ms, 5m)";
    static const char too_long[] = "is too long: at most 365d";
    const int64_t fraction_max = 1000000000; /* digits that can still make a difference */
    int64_t whole = 0, fraction = 0, scale = 1;
    bool nonzero = false, digits = false;
    int64_t total_ms;
    int64_t unit_ms;

    if (*text == '-')
        return "is negative";
    for (; is_digit(*text); text++) {
        whole = whole * 10 + (*text - '0');
        if (whole > RL_DURATION_MAX_MS)
            return too_long;
        digits = true;
    }
    if (*text == '.') {
        for (text++; is_digit(*text); text++) {
            nonzero = nonzero || *text != '0';
            digits = true;
            if (scale < fraction_max) {
                fraction = fraction * 10 + (*text - '0');
                scale *= 10;
            }
        }
    }
    unit_ms = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text, units[i].name) == 0)
            unit_ms = units[i].unit_ms;
    if (!digits || unit_ms == 0)
        return shape;
    if (whole > RL_DURATION_MAX_MS / unit_ms)
        return too_long;
    total_ms = whole * unit_ms + fraction * unit_ms / scale;
    if (total_ms > RL_DURATION_MAX_MS)
        return too_long;
    if (total_ms == 0 && nonzero)
        return "is shorter than a millisecond";
    *out_ms = total_ms;
    return NULL;
}
