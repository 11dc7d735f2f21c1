/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/percent.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whatever the locale. */
static bool is_alphanumeric(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

char *rl_percent_encode(char *out, const char *text, const char *plain)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (is_alphanumeric(c) || strchr(plain, c))
            *out++ = (char)c;
        else
            out += sprintf(out, "%%%02X", c);
    }
    *out = '\0';
    return out;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

size_t rl_percent_decode(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++) {
        bool escaped = text[i] == '%' && i + 2 < length && hex_digit(text[i + 1]) >= 0 &&
                       hex_digit(text[i + 2]) >= 0;
        out[used++] =
            escaped ? (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
        i += escaped ? 2 : 0;
    }
    out[used] = '\0';
    return used;
}
