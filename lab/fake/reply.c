/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/fake/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD_SIZE 32
#define WHOLE_MAX 1e17

/* Reads "<mark><number>\r\n" at *at. 1: read, 0: not complete, -1: something else. */
static int read_head(const char *bytes, size_t size, char mark, size_t *at, long *number)
{
    const char *end = memchr(bytes + *at, '\n', size - *at);
    long value = 0;

    if (*at < size && bytes[*at] != mark)
        return -1;
    if (!end)
        return size - *at < HEAD_SIZE ? 0 : -1;
    for (const char *digit = bytes + *at + 1; digit < end - 1; digit++) {
        if (*digit < '0' || *digit > '9')
            return -1;
        value = value * 10 + (*digit - '0');
    }
    *number = value;
    *at = (size_t)(end - bytes) + 1;
    return 1;
}

long fake_request_read(const char *bytes, size_t size, struct fake_words *out)
{
    size_t at = 0;
    long count;
    long length;
    int status = size == 0 ? 0 : read_head(bytes, size, '*', &at, &count);

    if (status <= 0)
        return status;
    if (count < 1 || count > FAKE_WORDS_MAX)
        return -1;
    out->count = (uint32_t)count;
    for (long i = 0; i < count; i++) {
        status = at == size ? 0 : read_head(bytes, size, '$', &at, &length);
        if (status <= 0)
            return status;
        if (at + (size_t)length + 2 > size)
            return 0;
        out->word[i] = (struct rl_slice){bytes + at, (size_t)length};
        at += (size_t)length + 2;
    }
    return (long)at;
}

void fake_write_double(char *out, size_t size, double number)
{
    /* Whole numbers, which nearly all are, look the same and are written faster. */
    if (number > -WHOLE_MAX && number < WHOLE_MAX && number == (double)(int64_t)number)
        snprintf(out, size, "%" PRId64, (int64_t)number);
    else
        snprintf(out, size, "%.17g", number);
}

static void add_head(struct fake_bytes *out, char mark, int64_t number)
{
    char head[HEAD_SIZE];
    int size = snprintf(head, sizeof head, "%c%" PRId64 "\r\n", mark, number);

    fake_bytes_add(out, head, (size_t)size);
}

static void add_line(struct fake_bytes *out, char mark, const char *text)
{
    fake_bytes_add(out, &mark, 1);
    fake_bytes_add(out, text, strlen(text));
    fake_bytes_add(out, "\r\n", 2);
}

void fake_reply_status(struct fake_bytes *out, const char *text)
{
    add_line(out, '+', text);
}

void fake_reply_error(struct fake_bytes *out, const char *text)
{
    add_line(out, '-', text);
}

void fake_reply_integer(struct fake_bytes *out, int64_t number)
{
    add_head(out, ':', number);
}

void fake_reply_bulk(struct fake_bytes *out, struct rl_slice text)
{
    add_head(out, '$', (int64_t)text.size);
    fake_bytes_add(out, text.data, text.size);
    fake_bytes_add(out, "\r\n", 2);
}

void fake_reply_text(struct fake_bytes *out, const char *text)
{
    fake_reply_bulk(out, (struct rl_slice){text, strlen(text)});
}

void fake_reply_nil(struct fake_bytes *out)
{
    fake_bytes_add(out, "$-1\r\n", 5);
}

void fake_reply_array(struct fake_bytes *out, uint32_t count)
{
    add_head(out, '*', count);
}
