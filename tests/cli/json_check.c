/* SPDX-License-Identifier: BSD-2-Clause */
/* Exits with 0 if every line of standard input is one well-formed JSON value in UTF-8. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 65536
#define DEPTH_MAX 32

static const unsigned char *at;

static bool value(int depth);

static bool take(int c)
{
    if (*at != c)
        return false;
    at++;
    return true;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool word(const char *text)
{
    size_t length = strlen(text);
    if (strncmp((const char *)at, text, length) != 0)
        return false;
    at += length;
    return true;
}

static bool digits(void)
{
    if (!is_digit(*at))
        return false;
    while (is_digit(*at))
        at++;
    return true;
}

static bool number(void)
{
    take('-');
    if (!take('0') && !digits())
        return false;
    if (take('.') && !digits())
        return false;
    if (take('e') || take('E')) {
        if (!take('+'))
            take('-');
        return digits();
    }
    return true;
}

static bool escape(void)
{
    if (take('u')) {
        for (int i = 0; i < 4; i++, at++) {
            if (!strchr("0123456789abcdefABCDEF", *at) || *at == '\0')
                return false;
        }
        return true;
    }
    return *at != '\0' && strchr("\"\\/bfnrt", *at++) != NULL;
}

/* Length of the UTF-8 sequence at `at`, 0 if it is broken. */
static int utf8(void)
{
    int length = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 0;
    if (*at > 0xf4 || (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
        return 0;
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static bool string(void)
{
    if (!take('"'))
        return false;
    while (*at != '"') {
        int length = utf8();
        if (*at < 0x20 || length == 0)
            return false;
        if (take('\\')) {
            if (!escape())
                return false;
        } else {
            at += length;
        }
    }
    return take('"');
}

static bool object(int depth)
{
    if (take('}'))
        return true;
    do {
        if (!string() || !take(':') || !value(depth))
            return false;
    } while (take(','));
    return take('}');
}

static bool array(int depth)
{
    if (take(']'))
        return true;
    do {
        if (!value(depth))
            return false;
    } while (take(','));
    return take(']');
}

static bool value(int depth)
{
    if (depth > DEPTH_MAX)
        return false;
    if (take('{'))
        return object(depth + 1);
    if (take('['))
        return array(depth + 1);
    if (*at == '"')
        return string();
    return word("true") || word("false") || word("null") || number();
}

int main(void)
{
    static char line[LINE_MAX_BYTES];
    unsigned lines = 0;
    while (fgets(line, sizeof line, stdin)) {
        lines++;
        at = (const unsigned char *)line;
        if (!value(0) || !take('\n') || *at != '\0') {
            fprintf(stderr, "line %u is broken at byte %td: %s", lines,
                    at - (const unsigned char *)line, line);
            return 1;
        }
    }
    return lines == 0;
}
