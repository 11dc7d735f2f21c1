/* SPDX-License-Identifier: BSD-2-Clause */
#include "json_check.h"

#include <stddef.h>
#include <string.h>

#define DEPTH_MAX 64

/* Each reader returns the place behind what it read, or NULL when that is broken. */
static const char *value(const char *at, int depth);

/* Bytes of the UTF-8 sequence, 0 if it is broken or too long for what it says. */
static size_t sequence(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned code = at[0];
    size_t size = code < 0x80 ? 1 : code < 0xc0 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;

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
    return size;
}

static const char *escape(const char *at)
{
    if (*at == '\0' || !strchr("\"\\/bfnrtu", *at))
        return NULL;
    if (*at != 'u')
        return at + 1;
    if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
        return NULL;
    return at + 5;
}

static const char *string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    while (at && *at != '"') {
        size_t size = sequence(at);

        if (size == 0 || (unsigned char)*at < 0x20)
            return NULL;
        at = *at == '\\' ? escape(at + 1) : at + size;
    }
    return at ? at + 1 : NULL;
}

static const char *number(const char *at)
{
    size_t digits;

    at += *at == '-';
    digits = strspn(at, "0123456789");
    return digits == 0 || (digits > 1 && *at == '0') ? NULL : at + digits;
}

static const char *list(const char *at, char end, int depth)
{
    if (*at == end)
        return at + 1;
    for (;;) {
        if (end == '}') {
            at = string(at);
            if (!at || *at++ != ':')
                return NULL;
        }
        at = value(at, depth);
        if (!at || (*at != ',' && *at != end))
            return NULL;
        if (*at++ == end)
            return at;
    }
}

static const char *value(const char *at, int depth)
{
    static const char *const words[] = {"true", "false", "null"};

    if (depth > DEPTH_MAX)
        return NULL;
    if (*at == '{')
        return list(at + 1, '}', depth + 1);
    if (*at == '[')
        return list(at + 1, ']', depth + 1);
    if (*at == '"')
        return string(at);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return number(at);
}

bool json_is_line(const char *text)
{
    const char *end = value(text, 0);

    return end && strcmp(end, "\n") == 0;
}

bool text_is_harmless(const char *text)
{
    while (*text) {
        size_t size = sequence(text);

        if (size == 0 || *text == 0x7f || ((unsigned char)*text < 0x20 && *text != '\n'))
            return false;
        text += size;
    }
    return true;
}
