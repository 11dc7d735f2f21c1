/* SPDX-License-Identifier: BSD-2-Clause */
#include "figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int decimals(double size)
{
    if (size == 0 || size >= 100)
        return 0;
    if (size >= 10)
        return 1;
    return size >= 0.1 ? 2 : 4;
}

const char *figure(double value, char out[FIGURE_MAX])
{
    char digits[FIGURE_MAX];
    char *to = out;
    int length = snprintf(digits, sizeof digits, "%.*f", decimals(fabs(value)), value);
    int whole = (int)strcspn(digits, ".");
    for (int i = 0; i < length && to < out + FIGURE_MAX - 2; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0 && digits[i - 1] != '-')
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}
