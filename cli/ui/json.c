/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/json.h"

#include <math.h>

#include "ui/text.h"

/* Bytes that stand for themselves: most of a text, written at once. */
static size_t plain_run(const char *text)
{
    size_t size = 0;
    while (text[size] >= ' ' && text[size] < 0x7f && text[size] != '"' && text[size] != '\\')
        size++;
    return size;
}

static void write_string(FILE *out, const char *text)
{
    putc('"', out);
    for (;;) {
        size_t run = plain_run(text);
        fwrite(text, 1, run, out);
        text += run;
        if (!*text)
            break;
        size_t length = text_utf8(text);
        unsigned char first = (unsigned char)*text;
        if (length == 0)
            fputs("\\ufffd", out);
        else if (first == '"' || first == '\\')
            fprintf(out, "\\%c", first);
        else if (text_steers(text_code(text, length)))
            fprintf(out, "\\u%04x", (unsigned)text_code(text, length));
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    putc('"', out);
}

/* What stands before every value: a comma if needed, and the key. */
static void begin(struct json *j, const char *key)
{
    if (j->comma)
        putc(',', j->out);
    if (key) {
        write_string(j->out, key);
        putc(':', j->out);
    }
    j->comma = true;
}

static void open_level(struct json *j, const char *key, char bracket)
{
    begin(j, key);
    putc(bracket, j->out);
    j->comma = false;
}

static void close_level(struct json *j, char bracket)
{
    putc(bracket, j->out);
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
        write_string(j->out, value);
    else
        fputs("null", j->out);
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
    fwrite(digits + at, 1, sizeof digits - at, j->out);
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
    begin(j, key);
    fprintf(j->out, "%.15g", value);
}

void json_measured(struct json *j, const char *key, double value)
{
    begin(j, key);
    if (isfinite(value) && value >= 0)
        fprintf(j->out, "%.6g", value);
    else
        fputs("null", j->out);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_finish(struct json *j)
{
    fputs("}\n", j->out);
    j->comma = false;
}
