/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text.h"

#define CAPACITY_FIRST 1024

/* ---- bytes ---- */

void json_restart(struct json *j)
{
    j->size = 0;
    j->comma = j->failed = false;
}

static bool grow(struct json *j, size_t needed)
{
    size_t capacity = j->capacity ? j->capacity : CAPACITY_FIRST;
    while (capacity < needed)
        capacity *= 2;
    char *text = realloc(j->text, capacity);
    if (!text) {
        j->failed = true;
        return false;
    }
    j->text = text;
    j->capacity = capacity;
    return true;
}

void json_raw(struct json *j, const char *bytes, size_t size)
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

static void put(struct json *j, char c)
{
    if (!j->out && j->size < j->capacity)
        j->text[j->size++] = c;
    else
        json_raw(j, &c, 1);
}

static void put_text(struct json *j, const char *text)
{
    json_raw(j, text, strlen(text));
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

static void write_string(struct json *j, const char *text)
{
    char escaped[8];
    put(j, '"');
    for (;;) {
        size_t run = plain_run(text);
        json_raw(j, text, run);
        text += run;
        if (!*text)
            break;
        size_t length = text_utf8(text);
        unsigned char first = (unsigned char)*text;
        if (length == 0) {
            put_text(j, "\\ufffd");
        } else if (first == '"' || first == '\\') {
            put(j, '\\');
            put(j, *text);
        } else if (text_steers(text_code(text, length))) {
            snprintf(escaped, sizeof escaped, "\\u%04x", text_code(text, length) & 0xffff);
            put_text(j, escaped);
        } else {
            json_raw(j, text, length);
        }
        text += length ? length : 1;
    }
    put(j, '"');
}

/* What stands before every value: a comma if needed, and the key, which is a plain word. */
static void begin(struct json *j, const char *key)
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

static void open_level(struct json *j, const char *key, char bracket)
{
    begin(j, key);
    put(j, bracket);
    j->comma = false;
}

static void close_level(struct json *j, char bracket)
{
    put(j, bracket);
    j->comma = true;
}

void json_object(struct json *j, const char *key)
{
    open_level(j, key, '{');
}

void json_end_object(struct json *j)
{
    close_level(j, '}');
}

void json_array(struct json *j, const char *key)
{
    open_level(j, key, '[');
}

void json_end_array(struct json *j)
{
    close_level(j, ']');
}

void json_string(struct json *j, const char *key, const char *value)
{
    begin(j, key);
    if (value)
        write_string(j, value);
    else
        put_text(j, "null");
}

void json_integer(struct json *j, const char *key, int64_t value)
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
    json_raw(j, digits + at, sizeof digits - at);
}

void json_known(struct json *j, const char *key, int64_t value)
{
    if (value < 0)
        json_string(j, key, NULL);
    else
        json_integer(j, key, value);
}

void json_real(struct json *j, const char *key, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", value);
    begin(j, key);
    put_text(j, digits);
}

void json_measured(struct json *j, const char *key, double value)
{
    char digits[32] = "null";
    if (isfinite(value) && value >= 0)
        snprintf(digits, sizeof digits, "%.6g", value);
    begin(j, key);
    put_text(j, digits);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin(j, key);
    put_text(j, value ? "true" : "false");
}

void json_finish(struct json *j)
{
    json_raw(j, "}\n", 2);
    j->comma = false;
}
