/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

/* Behind the string that begins at `at`; NULL: it is none. */
static const char *skip_string(const char *at, const char *end)
{
    if (at >= end || *at != '"')
        return NULL;
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < ' ')
            return NULL;
        if (*at == '\\')
            at++;
    }
    return at < end ? at + 1 : NULL;
}

/* A number or one of the three words, loosely: what it is worth is decided where it is used. */
static const char *skip_word(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end &&
           ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || strchr("+-.E", *at)) &&
           *at)
        at++;
    return at > begin ? at : NULL;
}

static const char *skip_value(const char *at, const char *end, int depth);

/* Members or elements, from behind the opening bracket to behind the closing one. */
static const char *skip_inside(const char *at, const char *end, char close, int depth)
{
    at = skip_blanks(at, end);
    if (at < end && *at == close)
        return at + 1;
    for (;;) {
        if (close == '}') {
            at = skip_string(skip_blanks(at, end), end);
            at = at ? skip_blanks(at, end) : NULL;
            if (!at || at >= end || *at != ':')
                return NULL;
            at++;
        }
        at = skip_value(at, end, depth);
        at = at ? skip_blanks(at, end) : NULL;
        if (!at || at >= end || (*at != ',' && *at != close))
            return NULL;
        if (*at++ == close)
            return at;
    }
}

static const char *skip_value(const char *at, const char *end, int depth)
{
    at = skip_blanks(at, end);
    if (at >= end || depth == 0)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_inside(at + 1, end, *at == '{' ? '}' : ']', depth - 1);
    return skip_word(at, end);
}

struct json_value json_read(const char *text, size_t size)
{
    const char *end = text + size, *begin = skip_blanks(text, end);
    const char *behind = skip_value(begin, end, JSON_READ_DEPTH_MAX);
    if (!behind || skip_blanks(behind, end) != end)
        return (struct json_value){0};
    return (struct json_value){begin, behind};
}

/* From here on the text is known to be well-formed. */

static bool is_string(const char *at, const char *end, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(end - at) == length + 2 && memcmp(at + 1, text, length) == 0;
}

struct json_value json_member(struct json_value object, const char *name)
{
    struct json_value none = {0};
    const char *at;

    if (!object.at || *object.at != '{')
        return none;
    at = skip_blanks(object.at + 1, object.end);
    while (*at != '}') {
        const char *key_end = skip_string(at, object.end);
        const char *value = skip_blanks(skip_blanks(key_end, object.end) + 1, object.end);
        const char *behind = skip_value(value, object.end, JSON_READ_DEPTH_MAX);
        if (is_string(at, key_end, name))
            return (struct json_value){value, behind};
        at = skip_blanks(behind, object.end);
        if (*at == ',')
            at = skip_blanks(at + 1, object.end);
    }
    return none;
}

bool json_next(struct json_value *next, struct json_value *element)
{
    const char *at;

    if (!next->at || (*next->at != '[' && *next->at != ','))
        return false;
    at = skip_blanks(next->at + 1, next->end);
    if (*at == ']')
        return false;
    *element = (struct json_value){at, skip_value(at, next->end, JSON_READ_DEPTH_MAX)};
    next->at = skip_blanks(element->end, next->end);
    return true;
}

/* The code of \uXXXX; -1: it is none. */
static long code_of(const char *at, const char *end)
{
    char digits[5] = "", *stopped;
    long code;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    code = strtol(digits, &stopped, 16);
    return stopped == digits + 4 ? code : -1;
}

static size_t encode_utf8(long code, char out[4])
{
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf0 << (4 - size) & 0xff) | code);
    return size;
}

/* What the escape at *at stands for; *at goes to its last byte. */
static size_t decode_escape(const char **at, const char *end, char out[4])
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    long code = code_of(*at, end), low;
    const char *found;

    if (code >= 0) {
        *at += 5;
        low = code >= 0xd800 && code < 0xdc00 ? code_of(*at + 1, end) : -1;
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            *at += 6;
        }
        return encode_utf8(code, out);
    }
    ++*at;
    found = **at ? strchr(plain, **at) : NULL;
    out[0] = found ? meant[found - plain] : **at;
    return 1;
}

bool json_text(struct json_value value, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    if (!value.at || *value.at != '"')
        return false;
    for (const char *at = value.at + 1; at < value.end - 1; at++) {
        char bytes[4] = {*at};
        size_t count = *at == '\\' ? decode_escape(&at, value.end - 1, bytes) : 1;
        if (used + count >= size)
            break;
        memcpy(out + used, bytes, count);
        used += count;
    }
    out[used] = '\0';
    return true;
}

int64_t json_number(struct json_value value, int64_t otherwise)
{
    char digits[24], *stopped;
    size_t length = (size_t)(value.end - value.at);
    long long number;

    if (!value.at || length >= sizeof digits)
        return otherwise;
    memcpy(digits, value.at, length);
    digits[length] = '\0';
    errno = 0;
    number = strtoll(digits, &stopped, 10);
    return *stopped || stopped == digits || errno ? otherwise : (int64_t)number;
}

bool json_true(struct json_value value)
{
    return value.at && value.end - value.at == 4 && memcmp(value.at, "true", 4) == 0;
}
