/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/resp.h"

#include <string.h>

#include "base/number.h"

#define CRLF_SIZE 2

/* What a reply that is no array begins with. */
static const char scalar_marks[] = {'+', '-', ':', '$'};

/*
 * The line that starts at *bytes, without its CRLF. Returns the bytes taken, 0 when the line is
 * not complete, -1 when it is too long or ends in a bare line feed.
 */
static long take_line(const char *bytes, size_t size, struct rl_slice *line)
{
    size_t limit = size < RL_RESP_LINE_MAX ? size : RL_RESP_LINE_MAX;
    const char *end = memchr(bytes, '\n', limit);

    if (!end)
        return size >= RL_RESP_LINE_MAX ? -1 : 0;
    if (end == bytes || end[-1] != '\r')
        return -1;
    *line = (struct rl_slice){bytes, (size_t)(end - 1 - bytes)};
    return end + 1 - bytes;
}

static long take_bulk(const char *bytes, size_t size, int64_t length, int64_t limit,
                      struct rl_scalar *out)
{
    size_t needed;

    if (length == -1) {
        out->type = RL_REPLY_NIL;
        return 0;
    }
    if (length < 0 || length > limit)
        return -1;

    needed = (size_t)length + CRLF_SIZE;

    out->type = RL_REPLY_BULK;
    out->text = (struct rl_slice){bytes, (size_t)length};
    if (size < needed) {
        /* A wrong trailer is an error as soon as it can be seen. */
        return size > (size_t)length && bytes[length] != '\r' ? -1 : (long)needed;
    }
    return memcmp(bytes + length, "\r\n", CRLF_SIZE) == 0 ? (long)needed : -1;
}

/* One reply that is no array; the caller has seen at least one byte. */
static long take_scalar(const char *bytes, size_t size, int64_t bulk_max, struct rl_scalar *out)
{
    struct rl_slice line;
    long head = take_line(bytes + 1, size - 1, &line);
    long body;

    *out = (struct rl_scalar){0};
    if (head <= 0)
        return head;
    head++;
    switch (bytes[0]) {
    case '+':
        out->type = RL_REPLY_STATUS;
        out->text = line;
        return head;
    case '-':
        out->type = RL_REPLY_ERROR;
        out->text = line;
        return head;
    case ':':
        out->type = RL_REPLY_INTEGER;
        return rl_integer_read(line, &out->integer) ? head : -1;
    case '$':
        if (!rl_integer_read(line, &out->integer))
            return -1;
        body = take_bulk(bytes + head, size - (size_t)head, out->integer, bulk_max, out);
        if (body < 0)
            return -1;
        return (size_t)(head + body) <= size ? head + body : 0;
    default:
        return -1;
    }
}

static long take_array(const char *bytes, size_t size, struct rl_reply *out)
{
    struct rl_slice line;
    int64_t count;
    long used = take_line(bytes + 1, size - 1, &line);

    if (used <= 0)
        return used;
    if (!rl_integer_read(line, &count) || count < -1 || count > RL_REPLY_ELEMENTS_MAX)
        return -1;
    used++;
    out->scalar = (struct rl_scalar){.type = count < 0 ? RL_REPLY_NIL : RL_REPLY_ARRAY};
    out->element_count = count < 0 ? 0 : (uint32_t)count;
    for (uint32_t i = 0; i < out->element_count; i++) {
        long taken;

        if ((size_t)used == size)
            return 0;
        if (!memchr(scalar_marks, bytes[used], sizeof scalar_marks))
            return -1;
        taken =
            take_scalar(bytes + used, size - (size_t)used, RL_RESP_BULK_MAX, &out->element[i]);
        if (taken <= 0)
            return taken;
        used += taken;
        if (used > RL_RESP_REPLY_MAX)
            return -1;
    }
    return used;
}

long rl_resp_decode_long(const char *bytes, size_t size, int64_t bulk_max, struct rl_reply *out)
{
    if (size == 0)
        return 0;
    if (bytes[0] == '*')
        return take_array(bytes, size, out);
    /* Seen before the line is complete: garbage must not be waited for. */
    if (!memchr(scalar_marks, bytes[0], sizeof scalar_marks))
        return -1;
    out->element_count = 0;
    return take_scalar(bytes, size, bulk_max, &out->scalar);
}

long rl_resp_decode(const char *bytes, size_t size, struct rl_reply *out)
{
    return rl_resp_decode_long(bytes, size, RL_RESP_BULK_MAX, out);
}

static size_t tag_size(const struct rl_command *command, uint32_t argument)
{
    return command->is_key[argument] ? command->tag.size : 0;
}

size_t rl_resp_encoded_size(const struct rl_command *command)
{
    size_t size = 1 + rl_number_size(command->argument_count) + CRLF_SIZE;

    for (uint32_t i = 0; i < command->argument_count; i++) {
        size_t length = command->argument[i].size + tag_size(command, i);

        size += 1 + rl_number_size(length) + CRLF_SIZE + length + CRLF_SIZE;
    }
    return size;
}

static char *put_header(char kind, size_t number, char *out)
{
    *out++ = kind;
    out = rl_number_write(number, out);
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

char *rl_resp_encode(const struct rl_command *command, char *out)
{
    out = put_header('*', command->argument_count, out);
    for (uint32_t i = 0; i < command->argument_count; i++) {
        struct rl_slice argument = command->argument[i];

        size_t tagged = tag_size(command, i);

        out = put_header('$', tagged + argument.size, out);
        if (tagged)
            out = rl_slice_append(out, command->tag);
        out = rl_slice_append(out, argument);
        *out++ = '\r';
        *out++ = '\n';
    }
    return out;
}
