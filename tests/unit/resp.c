/* SPDX-License-Identifier: BSD-2-Clause */
/* RESP by table: what is decoded, refused and encoded. lab/fuzz/resp.c has an oracle. */
#include "check.h"

#include "base/number.h"
#include "protocol/answer.h"
#include "protocol/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(literal) literal, sizeof(literal) - 1

/* The decoder takes all of it, and waits for the rest of every part. */
static void decode_whole(const char *bytes, size_t size, struct rl_reply *reply)
{
    for (size_t part = 0; part < size; part++)
        CHECK_INT(0, rl_resp_decode(bytes, part, reply));
    CHECK_INT(size, rl_resp_decode(bytes, size, reply));
}

CASE(accepts_what_servers_say, "The decoder accepts every whole reply and no part of it.")
{
    struct rl_reply reply;
    decode_whole(TEXT("+OK\r\n"), &reply);
    CHECK_INT(RL_REPLY_STATUS, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "OK"));
    CHECK_INT(10, rl_resp_decode(TEXT("-ERR bad\r\n+OK\r\n"), &reply));
    CHECK_INT(RL_REPLY_ERROR, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "ERR bad"));
    decode_whole(TEXT(":-2\r\n"), &reply);
    CHECK_INT(RL_REPLY_INTEGER, reply.scalar.type);
    CHECK_INT(-2, reply.scalar.integer);
    decode_whole(TEXT("$3\r\na\nb\r\n"), &reply);
    CHECK_INT(RL_REPLY_BULK, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "a\nb"));
    decode_whole(TEXT("$0\r\n\r\n"), &reply);
    CHECK_INT(0, reply.scalar.text.size);
    decode_whole(TEXT("$-1\r\n"), &reply);
    CHECK_INT(RL_REPLY_NIL, reply.scalar.type);
    decode_whole(TEXT("*-1\r\n"), &reply);
    CHECK_INT(RL_REPLY_NIL, reply.scalar.type);
    decode_whole(TEXT("*0\r\n"), &reply);
    CHECK_INT(RL_REPLY_ARRAY, reply.scalar.type);
    CHECK_INT(0, reply.element_count);
    decode_whole(TEXT("*3\r\n:7\r\n$1\r\nx\r\n$-1\r\n"), &reply);
    CHECK_INT(3, reply.element_count);
    CHECK_INT(7, reply.element[0].integer);
    CHECK(rl_slice_equals(reply.element[1].text, "x"));
    CHECK_INT(RL_REPLY_NIL, reply.element[2].type);
}

CASE(integers_are_of_64_bits,
     "The decoder accepts the whole range of int64_t, and nothing beyond it.")
{
    static const struct {
        const char *text;
        bool accepted;
        int64_t value;
    } table[] = {
        {":9223372036854775807\r\n", true, INT64_MAX},
        {":-9223372036854775808\r\n", true, INT64_MIN},
        {":-9223372036854775807\r\n", true, -INT64_MAX},
        {":999999999999999999\r\n", true, 999999999999999999},
        {":1000000000000000000\r\n", true, 1000000000000000000},
        {":0000000000000000000000007\r\n", true, 7},
        {":-0\r\n", true, 0},
        {":9223372036854775808\r\n", false, 0},
        {":-9223372036854775809\r\n", false, 0},
        {":9223372036854775810\r\n", false, 0},
        {":92233720368547758070\r\n", false, 0},
        {":18446744073709551616\r\n", false, 0},
        {":--1\r\n", false, 0},
    };
    struct rl_reply reply;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        long size = (long)strlen(table[i].text);
        long used = rl_resp_decode(table[i].text, (size_t)size, &reply);
        if (used != (table[i].accepted ? size : -1))
            FAIL("%s: %ld", table[i].text, used);
        if (table[i].accepted)
            CHECK_INT(table[i].value, reply.scalar.integer);
    }
}

CASE(refuses_what_they_do_not,
     "The decoder refuses at the header what is not RESP2 within the limits.")
{
    static const struct {
        const char *bytes;
        size_t size;
    } table[] = {
        {TEXT("HTTP/1.1 400 Bad Request\r\n")},
        {TEXT("\x16\x03\x01\r\n")},
        {TEXT("\r\n")},
        {TEXT("\n")},
        {TEXT("+OK\n")},
        {TEXT("$1073741824\r\n")},
        {TEXT("$16385\r\n")},
        {TEXT("$-2\r\n")},
        {TEXT("$\r\n")},
        {TEXT("$+5\r\n")},
        {TEXT("$5x\r\n")},
        {TEXT("$ 5\r\n")},
        {TEXT("$3\r\nabcd\r\n")},
        {TEXT("$3\r\nabc\rx")},
        {TEXT("*100000000\r\n")},
        {TEXT("*129\r\n")},
        {TEXT("*-2\r\n")},
        {TEXT("*1\r\n*1\r\n:1\r\n")},
        {TEXT("*2\r\n:1\r\nx\r\n")},
        {TEXT(":\r\n")},
        {TEXT(":-\r\n")},
        {TEXT(":1.5\r\n")},
        {TEXT(":9999999999999999999999\r\n")},
        {TEXT("_\r\n")}, /* RESP3 */
        {TEXT("%1\r\n")},
        {TEXT("#t\r\n")},
    };
    struct rl_reply reply;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (rl_resp_decode(table[i].bytes, table[i].size, &reply) != -1)
            FAIL("entry %zu (%s) was not refused", i, table[i].bytes);
}

CASE(lines_have_an_end, "The decoder refuses a line that is too long.")
{
    static char line[RL_RESP_LINE_MAX + 16];
    struct rl_reply reply;
    static const char types[] = "+-:$*";
    memset(line, 'a', sizeof line);
    for (const char *type = types; *type != '\0'; type++) {
        line[0] = *type;
        CHECK_INT(-1, rl_resp_decode(line, sizeof line, &reply));
    }
    line[0] = '+';
    CHECK_INT(0, rl_resp_decode(line, 100, &reply));
}

CASE(encodes_commands,
     "The encoder writes a command as an array of bulks, binary arguments included.")
{
    static const char expected[] = "*3\r\n$3\r\nSET\r\n$4\r\na\0\r\n\r\n$0\r\n\r\n";
    struct rl_command command = {.argument_count = 3,
                                 .argument = {{"SET", 3}, {"a\0\r\n", 4}, {"", 0}}};
    char out[128];
    size_t size = rl_resp_encoded_size(&command);
    CHECK_INT(sizeof expected - 1, size);
    CHECK(rl_resp_encode(&command, out) == out + size);
    CHECK_INT(0, memcmp(expected, out, size));
}

CASE(encodes_sizes, "The encoder's predicted size is exact for all lengths of arguments.")
{
    static char argument[12000], out[13000];
    static const size_t sizes[] = {0,   1,   9,    10,   11,    99,   100,
                                   101, 999, 1000, 9999, 10000, 11999};
    memset(argument, 'x', sizeof argument);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rl_command command = {.argument_count = 2,
                                     .argument = {{"GET", 3}, {argument, sizes[i]}}};
        size_t size = rl_resp_encoded_size(&command);
        char head[32];
        CHECK(rl_resp_encode(&command, out) == out + size);
        snprintf(head, sizeof head, "*2\r\n$3\r\nGET\r\n$%zu\r\n", sizes[i]);
        CHECK_INT(0, memcmp(head, out, strlen(head)));
        CHECK_INT(strlen(head) + sizes[i] + 2, size);
    }
}

CASE(encodes_numbers, "The encoder writes numbers as decimal digits, from 0 to the largest.")
{
    static const uint64_t numbers[] = {0, 9, 10, 86400000, 18446744073709551615u};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char ours[32] = "", theirs[32];
        *rl_number_write(numbers[i], ours) = '\0';
        snprintf(theirs, sizeof theirs, "%llu", (unsigned long long)numbers[i]);
        CHECK_STR(theirs, ours);
    }
}
