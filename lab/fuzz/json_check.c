/* SPDX-License-Identifier: BSD-2-Clause */
#include "json_check.h"

#include <stddef.h>
#include <string.h>

#include "base/json_read.h"

/* Bytes of the UTF-8 sequence, 0 if it is broken or too long for what it says; and its code. */
static size_t sequence(const char *text, unsigned *out)
{
    const unsigned char *at = (const unsigned char *)text;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned code = at[0];
    size_t size = code < 0x80 ? 1 : code < 0xc0 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;

    *out = code;
    if (size < 2)
        return size;
    code &= 0x7fu >> size;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (at[0] > 0xf4 || code < least[size] || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out = code;
    return size;
}

/* What terminals obey: controls, ends of lines and changes of the direction of writing. */
static bool is_obeyed(unsigned code)
{
    static const unsigned ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

bool json_is_line(const char *text)
{
    size_t size = strcspn(text, "\n");
    struct rl_slice line = {text, size};

    return strcmp(text + size, "\n") == 0 && text_is_harmless(text) &&
           rl_json_whole(line).type != RL_JSON_ABSENT;
}

bool text_is_harmless(const char *text)
{
    while (*text) {
        unsigned code;
        size_t size = sequence(text, &code);

        if (size == 0 || (is_obeyed(code) && code != '\n'))
            return false;
        text += size;
    }
    return true;
}
