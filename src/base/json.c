/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define CAPACITY_FIRST 1024

/* ---- bytes ---- */

void rl_json_restart(struct rl_json *j)
{
    j->size = 0;
    j->comma = j->failed = false;
}

static bool grow(struct rl_json *j, size_t needed)
{
    size_t capacity = j->capacity ? j->capacity : CAPACITY_FIRST;
    char *text;

    while (capacity < needed)
        capacity *= 2;
    text = realloc(j->text, capacity);
    if (!text) {
        j->failed = true;
        return false;
    }
    j->text = text;
    j->capacity = capacity;
    return true;
}

void rl_json_raw(struct rl_json *j, const char *bytes, size_t size)
{
    if (j->out) {
        fwrite(bytes, 1, size, j->out);
        return;
    }
    if (size > j->capacity - j->size && !grow(j, j->size + size))
        return;
    memcpy(j->text + j->size, bytes, size);
    j->size += size;
}

static void put(struct rl_json *j, char c)
{
    if (!j->out && j->size < j->capacity)
        j->text[j->size++] = c;
    else
        rl_json_raw(j, &c, 1);
}

static void put_text(struct rl_json *j, const char *text)
{
    rl_json_raw(j, text, strlen(text));
}

/* ---- values ---- */

/* Bytes that stand for themselves: most of a text, written at once. */
static size_t plain_run(const char *text)
{
    size_t size = 0;
    while (text[size] >= ' ' && text[size] < 0x7f && text[size] != '"' && text[size] != '\\')
        size++;
    return size;
}

static void write_string(struct rl_json *j, const char *text)
{
    char escaped[8];
    put(j, '"');
    for (;;) {
        size_t run = plain_run(text);
        size_t length;
        unsigned char first;

        rl_json_raw(j, text, run);
        text += run;
        if (!*text)
            break;
        length = rl_utf8_length(text);
        first = (unsigned char)*text;
        if (length == 0) {
            put_text(j, "\\ufffd");
        } else if (first == '"' || first == '\\') {
            put(j, '\\');
            put(j, *text);
        } else if (rl_utf8_steers(rl_utf8_code(text, length))) {
            snprintf(escaped, sizeof escaped, "\\u%04x", rl_utf8_code(text, length) & 0xffff);
            put_text(j, escaped);
        } else {
            rl_json_raw(j, text, length);
        }
        text += length ? length : 1;
    }
    put(j, '"');
}

/* What stands before every value: a comma if needed, and the key, which is a plain word. */
static void begin(struct rl_json *j, const char *key)
{
    if (j->comma)
        put(j, ',');
    if (key) {
        put(j, '"');
        put_text(j, key);
        put(j, '"');
        put(j, ':');
    }
    j->comma = true;
}

static void open_level(struct rl_json *j, const char *key, char bracket)
{
    begin(j, key);
    put(j, bracket);
    j->comma = false;
}

static void close_level(struct rl_json *j, char bracket)
{
    put(j, bracket);
    j->comma = true;
}

void rl_json_object(struct rl_json *j, const char *key)
{
    open_level(j, key, '{');
}

void rl_json_end_object(struct rl_json *j)
{
    close_level(j, '}');
}

void rl_json_array(struct rl_json *j, const char *key)
{
    open_level(j, key, '[');
}

void rl_json_end_array(struct rl_json *j)
{
    close_level(j, ']');
}

void rl_json_string(struct rl_json *j, const char *key, const char *value)
{
    begin(j, key);
    if (value)
        write_string(j, value);
    else
        put_text(j, "null");
}

void rl_json_integer(struct rl_json *j, const char *key, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    /* Not fprintf(): answers of the service are made of these. */
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        digits[--at] = '-';
    begin(j, key);
    rl_json_raw(j, digits + at, sizeof digits - at);
}

void rl_json_known(struct rl_json *j, const char *key, int64_t value)
{
    if (value < 0)
        rl_json_string(j, key, NULL);
    else
        rl_json_integer(j, key, value);
}

void rl_json_real(struct rl_json *j, const char *key, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", value);
    begin(j, key);
    put_text(j, digits);
}

void rl_json_measured(struct rl_json *j, const char *key, double value)
{
    char digits[32] = "null";
    if (isfinite(value) && value >= 0)
        snprintf(digits, sizeof digits, "%.6g", value);
    begin(j, key);
    put_text(j, digits);
}

void rl_json_bool(struct rl_json *j, const char *key, bool value)
{
    begin(j, key);
    put_text(j, value ? "true" : "false");
}

void rl_json_finish(struct rl_json *j)
{
    rl_json_raw(j, "}\n", 2);
    j->comma = false;
}
