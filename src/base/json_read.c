/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_read.h"

#include "base/number.h"
#include "base/utf8.h"

#define WORD_MAX 64 /* bytes of a name that rl_json_is() compares with */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* The code of \uXXXX at `at`; -1: it is none. */
static int32_t unit_of(const char *at, const char *end)
{
    int32_t code = 0;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = rl_hex_value(at[i]);

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* The character that the escape at `at` stands for; its size, or 0: there is none. */
static size_t read_escape(const char *at, const char *end, uint32_t *code)
{
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    int32_t high, low;

    if (end - at < 2)
        return 0;
    letter = at[1] ? strchr(letters, at[1]) : NULL;
    if (letter) {
        *code = (uint32_t)means[letter - letters];
        return 2;
    }
    high = unit_of(at, end);
    *code = (uint32_t)high;
    if (high <= 0 || (high >= 0xdc00 && high < 0xe000))
        return 0;
    if (high < 0xd800 || high >= 0xe000)
        return 6;
    low = unit_of(at + 6, end);
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    *code = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return 12;
}

/* Behind the text whose first quote is at `at`; NULL: it is none. */
static const char *read_text(const char *at, const char *end, struct rl_json_value *value)
{
    const char *begin = at + 1;
    uint32_t code;

    if (at == end || *at != '"')
        return NULL;
    for (at = begin; at < end && *at != '"';) {
        size_t size = *at == '\\' ? read_escape(at, end, &code)
                                  : rl_utf8_read(at, (size_t)(end - at), &code);

        if (size == 0 || (*at != '\\' && code < 0x20))
            return NULL;
        at += size;
    }
    *value =
        (struct rl_json_value){.type = RL_JSON_TEXT, .text = {begin, (size_t)(at - begin)}};
    return at < end ? at + 1 : NULL;
}

int rl_json_text(struct rl_json_value value, char *out, size_t size)
{
    const char *at = value.text.data, *end;
    size_t length = 0;

    out[0] = '\0';
    if (value.type != RL_JSON_TEXT)
        return -1;
    for (end = at + value.text.size; at < end;) {
        char bytes[4];
        uint32_t code;
        size_t taken = *at == '\\' ? read_escape(at, end, &code)
                                   : rl_utf8_read(at, (size_t)(end - at), &code);
        size_t given = rl_utf8_write(code, bytes);

        if (length + given >= size)
            return -1;
        memcpy(out + length, bytes, given);
        length += given;
        out[length] = '\0';
        at += taken;
    }
    return (int)length;
}

bool rl_json_is(struct rl_json_value value, const char *word)
{
    char text[WORD_MAX];

    if (!rl_slice_has(value.text, '\\'))
        return value.type == RL_JSON_TEXT && rl_slice_equals(value.text, word);
    return rl_json_text(value, text, sizeof text) >= 0 && strcmp(text, word) == 0;
}

/* ---- other values ------------------------------------------------------------------------ */

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && rl_is_digit(*at))
        at++;
    return at;
}

static const char *read_number(const char *at, const char *end, struct rl_json_value *value)
{
    const char *begin = at, *digits = at + (*at == '-');
    bool is_real = false;

    at = skip_digits(digits, end);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        is_real = true;
        if (at == digits)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        digits = at + 1;
        digits += digits < end && (*digits == '+' || *digits == '-');
        at = skip_digits(digits, end);
        is_real = true;
        if (at == digits)
            return NULL;
    }
    *value = (struct rl_json_value){.type = is_real ? RL_JSON_REAL : RL_JSON_INTEGER};
    return is_real || rl_integer_read((struct rl_slice){begin, (size_t)(at - begin)},
                                      &value->integer)
               ? at
               : NULL;
}

static const char *read_word(const char *at, const char *end, struct rl_json_value *value)
{
    static const struct {
        struct rl_slice word;
        struct rl_json_value value;
    } words[] = {
        {{"null", 4}, {.type = RL_JSON_NULL}},
        {{"true", 4}, {.type = RL_JSON_BOOL, .integer = 1}},
        {{"false", 5}, {.type = RL_JSON_BOOL}},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!rl_slice_starts((struct rl_slice){at, (size_t)(end - at)}, words[i].word.data))
            continue;
        *value = words[i].value;
        return at + words[i].word.size;
    }
    return NULL;
}

static const char *read_value(const char *at, const char *end, int depth,
                              struct rl_json_value *value);

/* From behind the opening bracket to behind the closing one. */
static const char *skip_nested(const char *at, const char *end, char close, int depth)
{
    struct rl_json_value passed;

    at = skip_blanks(at, end);
    if (at < end && *at == close)
        return at + 1;
    for (;;) {
        if (close == '}') {
            at = read_text(skip_blanks(at, end), end, &passed);
            at = at ? skip_blanks(at, end) : NULL;
            if (!at || at == end || *at++ != ':')
                return NULL;
        }
        at = read_value(skip_blanks(at, end), end, depth, &passed);
        at = at ? skip_blanks(at, end) : NULL;
        if (!at || at == end || (*at != ',' && *at != close))
            return NULL;
        if (*at++ == close)
            return at;
    }
}

/* Behind the value that begins at `at`; NULL: it is none. */
static const char *read_value(const char *at, const char *end, int depth,
                              struct rl_json_value *value)
{
    const char *behind;
    bool is_object;

    if (at == end)
        return NULL;
    if (*at == '"')
        return read_text(at, end, value);
    if (*at == '-' || rl_is_digit(*at))
        return read_number(at, end, value);
    is_object = *at == '{';
    if (!is_object && *at != '[')
        return read_word(at, end, value);
    behind = depth > 0 ? skip_nested(at + 1, end, is_object ? '}' : ']', depth - 1) : NULL;
    if (behind)
        *value = (struct rl_json_value){.type = is_object ? RL_JSON_OBJECT : RL_JSON_ARRAY,
                                        .text = {at, (size_t)(behind - at)}};
    return behind;
}

struct rl_json_value rl_json_whole(struct rl_slice text)
{
    const char *end = text.data + text.size, *at;
    struct rl_json_value value;

    at = read_value(skip_blanks(text.data, end), end, RL_JSON_DEPTH_MAX + 1, &value);
    return at && skip_blanks(at, end) == end ? value : (struct rl_json_value){0};
}

int64_t rl_json_number(struct rl_json_value value, int64_t otherwise)
{
    return value.type == RL_JSON_INTEGER ? value.integer : otherwise;
}

bool rl_json_true(struct rl_json_value value)
{
    return value.type == RL_JSON_BOOL && value.integer;
}

/* ---- the object -------------------------------------------------------------------------- */

struct rl_json_reader rl_json_read(struct rl_slice text)
{
    return (struct rl_json_reader){text.data, text.data + text.size, false, false};
}

/* Behind a bracket or comma that must stand here; NULL: it does not. */
static const char *behind(const char *at, const char *end, char mark)
{
    at = skip_blanks(at, end);
    return at < end && *at == mark ? at + 1 : NULL;
}

/* Nothing but blanks may follow. */
static bool finish(struct rl_json_reader *reader, const char *at)
{
    reader->failed = skip_blanks(at, reader->end) != reader->end;
    reader->at = reader->end;
    return false;
}

static bool fail(struct rl_json_reader *reader)
{
    reader->failed = true;
    return false;
}

bool rl_json_next(struct rl_json_reader *reader, struct rl_json_value *name,
                  struct rl_json_value *value)
{
    const char *end = reader->end, *at = reader->at, *closed;

    if (reader->failed || (reader->has_begun && at == end))
        return false;
    closed = reader->has_begun ? behind(at, end, '}') : NULL;
    if (closed)
        return finish(reader, closed);
    at = behind(at, end, reader->has_begun ? ',' : '{');
    if (!at)
        return fail(reader);
    closed = reader->has_begun ? NULL : behind(at, end, '}');
    reader->has_begun = true;
    if (closed)
        return finish(reader, closed);
    at = read_text(skip_blanks(at, end), end, name);
    at = at ? behind(at, end, ':') : NULL;
    at = at ? read_value(skip_blanks(at, end), end, RL_JSON_DEPTH_MAX, value) : NULL;
    if (!at || skip_blanks(at, end) == end)
        return fail(reader);
    reader->at = at;
    return true;
}

struct rl_json_value rl_json_member(struct rl_json_value object, const char *name)
{
    struct rl_json_value found, value, none = {0};
    struct rl_json_reader reader;

    if (object.type != RL_JSON_OBJECT)
        return none;
    reader = rl_json_read(object.text);
    while (rl_json_next(&reader, &found, &value)) {
        if (rl_json_is(found, name))
            return value;
    }
    return none;
}

bool rl_json_element(struct rl_json_value *rest, struct rl_json_value *element)
{
    const char *at = rest->text.data, *end;

    /* The array was checked as a whole: `at` is at its bracket or behind an element. */
    if (rest->type != RL_JSON_ARRAY || *at == ']')
        return false;
    end = at + rest->text.size;
    at = skip_blanks(at + 1, end);
    if (*at == ']')
        return false;
    at = skip_blanks(read_value(at, end, RL_JSON_DEPTH_MAX, element), end);
    rest->text = (struct rl_slice){at, (size_t)(end - at)};
    return true;
}

int rl_json_sole(struct rl_slice text, const char *name, struct rl_json_value *value)
{
    struct rl_json_reader reader = rl_json_read(text);
    struct rl_json_value found, other;
    unsigned count = 0;
    bool is_it = false;

    while (rl_json_next(&reader, &found, &other)) {
        is_it = rl_json_is(found, name);
        *value = other;
        count++;
    }
    return reader.failed ? -1 : count == 1 && is_it;
}
