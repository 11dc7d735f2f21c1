/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <string.h>

size_t rl_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned low = 0x80, high = 0xbf;
    size_t length;

    if (s[0] < 0x80)
        return s[0] != 0;
    /* The second byte's range rules out overlong forms, surrogates and beyond U+10FFFF. */
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        length = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        length = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;
        high = s[0] == 0xed ? 0x9f : high;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        length = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

size_t rl_utf8_read(const char *text, size_t size, uint32_t *code)
{
    char first[5] = "";
    size_t length;

    if (size == 0)
        return 0;
    *code = (unsigned char)text[0];
    if (*code < 0x80)
        return 1;
    /* A character that is cut off is none. */
    memcpy(first, text, size < 4 ? size : 4);
    length = rl_utf8_length(first);
    *code = rl_utf8_code(first, length ? length : 1);
    return length;
}

size_t rl_utf8_write(uint32_t code, char out[4])
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    out[0] = (char)(size == 1 ? code : (0xf0u << (4 - size) & 0xff) | code >> 6 * (size - 1));
    for (size_t i = 1; i < size; i++)
        out[i] = (char)(0x80 | (code >> 6 * (size - 1 - i) & 0x3f));
    return size;
}

uint32_t rl_utf8_code(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code;
}

bool rl_utf8_steers(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool line_or_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                             (code >= 0x2028 && code <= 0x202e) ||
                             (code >= 0x2066 && code <= 0x2069);
    return control || line_or_direction;
}
