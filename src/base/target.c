/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/target.h"

#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

void rl_target_split(struct rl_slice target, struct rl_slice *path, struct rl_slice *query)
{
    const char *mark = target.size > 0 ? memchr(target.data, '?', target.size) : NULL;

    *path = target;
    *query = (struct rl_slice){target.data + target.size, 0};
    if (!mark)
        return;
    path->size = (size_t)(mark - target.data);
    *query = (struct rl_slice){mark + 1, target.size - path->size - 1};
}

/* Decodes %XX once. The length, or -1: broken, or more than size - 1 bytes. NUL-terminated. */
static int decode(struct rl_slice text, char *out, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == '%') {
            int high = i + 2 < text.size ? rl_hex_value(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? rl_hex_value(text.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return -1;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (length + 1 >= size)
            return -1;
        out[length++] = c;
    }
    out[length] = '\0';
    return (int)length;
}

/* ---- names ----------------------------------------------------------------------------- */

/* U+0080 to U+009F are controls as well: some terminals obey them. */
static const char *check_characters(const char *name, size_t size, bool allow_utf8)
{
    size_t at = 0;

    while (at < size) {
        uint32_t code = 0;
        size_t length = rl_utf8_read(name + at, size - at, &code);

        if (!allow_utf8 && ((unsigned char)name[at] & 0x80))
            return "a name is ASCII unless `names = utf8` is set";
        if (length == 0)
            return "a name must be well-formed UTF-8";
        if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            return "a name has no control characters";
        if (code == '\\' || code == '%')
            return "a name has no backslash and, once decoded, no percent sign";
        at += length;
    }
    return NULL;
}

static const char *check_segments(const char *name)
{
    if (name[0] == '\0')
        return "a name is missing";
    for (;;) {
        const char *slash = strchr(name, '/');
        size_t length = slash ? (size_t)(slash - name) : strlen(name);

        if (length == 0)
            return "a name has no slash at either end and no two in a row";
        if ((length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.'))
            return "a name has no segment that is . or ..";
        if (name[length] == '\0')
            return NULL;
        name += length + 1;
    }
}

const char *rl_target_name(struct rl_slice encoded, bool allow_utf8, char *out, size_t size)
{
    int length = decode(encoded, out, size);
    const char *why;

    if (length < 0)
        return "a name is too long, or a % in it is not followed by two hexadecimal digits";
    /* In this order: after the first there is no NUL inside, and strings can be used. */
    why = check_characters(out, (size_t)length, allow_utf8);
    return why ? why : check_segments(out);
}

/* ---- parameters ------------------------------------------------------------------------ */

/* Takes the next parameter off the front; false at the end. */
static bool next_parameter(struct rl_slice *query, struct rl_slice *name,
                           struct rl_slice *value)
{
    const char *end, *equals;
    size_t length;

    if (query->size == 0)
        return false;
    end = memchr(query->data, '&', query->size);
    length = end ? (size_t)(end - query->data) : query->size;
    equals = length > 0 ? memchr(query->data, '=', length) : NULL;
    name->data = query->data;
    name->size = equals ? (size_t)(equals - query->data) : length;
    value->data = equals ? equals + 1 : query->data + length;
    value->size = length - (size_t)(value->data - query->data);
    rl_slice_skip(query, end ? length + 1 : length);
    return true;
}

static bool is_exactly(struct rl_slice text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static int decode_value(struct rl_slice value, char *out, size_t size)
{
    int length;

    if (rl_slice_has(value, '+'))
        return RL_TARGET_BAD;
    length = decode(value, out, size);
    if (length < 0)
        return RL_TARGET_BAD;
    for (int i = 0; i < length; i++)
        if (rl_is_control(out[i]))
            return RL_TARGET_BAD;
    return length;
}

int rl_target_query_get(struct rl_slice query, const char *name, char *out, size_t size)
{
    struct rl_slice key, value;
    int found = RL_TARGET_ABSENT;

    while (next_parameter(&query, &key, &value)) {
        if (!is_exactly(key, name))
            continue;
        if (found != RL_TARGET_ABSENT)
            return RL_TARGET_BAD;
        found = decode_value(value, out, size);
        if (found == RL_TARGET_BAD)
            return found;
    }
    return found;
}

int rl_target_query_number(struct rl_slice query, const char *name, unsigned least,
                           unsigned most, unsigned *number)
{
    char text[8];
    int size = rl_target_query_get(query, name, text, sizeof text);
    int64_t value;

    if (size == RL_TARGET_ABSENT)
        return size;
    value = size < 0 ? -1 : rl_number_read((struct rl_slice){text, (size_t)size}, most);
    if (value < least)
        return RL_TARGET_BAD;
    *number = (unsigned)value;
    return 0;
}

bool rl_target_query_only(struct rl_slice query, const char *const *names)
{
    struct rl_slice key, value;

    while (next_parameter(&query, &key, &value)) {
        const char *const *name = names;

        while (*name && !is_exactly(key, *name))
            name++;
        if (!*name)
            return false;
    }
    return true;
}
