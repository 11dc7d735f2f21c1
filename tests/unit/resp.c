/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RESP decoder: tables, prefixes, random and mutated input, with hiredis as an oracle
 * where it is installed. The oracle is more lenient, so the claim goes one way: whatever ours
 * accepts, hiredis accepts with the same value and the same length.
 */
#include "check.h"

#include "base/number.h"
#include "protocol/answer.h"
#include "protocol/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HIREDIS
#include <hiredis/hiredis.h>
#endif

#define TEXT(literal) literal, sizeof(literal) - 1

CASE(accepts_what_servers_say, "Each type of complete reply is decoded.")
{
    struct rl_reply reply;
    CHECK_INT(5, rl_resp_decode(TEXT("+OK\r\n"), &reply));
    CHECK_INT(RL_REPLY_STATUS, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "OK"));
    CHECK_INT(10, rl_resp_decode(TEXT("-ERR bad\r\n+OK\r\n"), &reply));
    CHECK_INT(RL_REPLY_ERROR, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "ERR bad"));
    CHECK_INT(5, rl_resp_decode(TEXT(":-2\r\n"), &reply));
    CHECK_INT(RL_REPLY_INTEGER, reply.scalar.type);
    CHECK_INT(-2, reply.scalar.integer);
    CHECK_INT(9, rl_resp_decode(TEXT("$3\r\nabc\r\n"), &reply));
    CHECK_INT(RL_REPLY_BULK, reply.scalar.type);
    CHECK(rl_slice_equals(reply.scalar.text, "abc"));
    CHECK_INT(6, rl_resp_decode(TEXT("$0\r\n\r\n"), &reply));
    CHECK_INT(0, reply.scalar.text.size);
    CHECK_INT(5, rl_resp_decode(TEXT("$-1\r\n"), &reply));
    CHECK_INT(RL_REPLY_NIL, reply.scalar.type);
    CHECK_INT(5, rl_resp_decode(TEXT("*-1\r\n"), &reply));
    CHECK_INT(RL_REPLY_NIL, reply.scalar.type);
    CHECK_INT(4, rl_resp_decode(TEXT("*0\r\n"), &reply));
    CHECK_INT(RL_REPLY_ARRAY, reply.scalar.type);
    CHECK_INT(0, reply.element_count);
    CHECK_INT(20, rl_resp_decode(TEXT("*3\r\n:7\r\n$1\r\nx\r\n$-1\r\n"), &reply));
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

static size_t put_scalar(char *out)
{
    size_t length = (size_t)(random() % 40);
    size_t used = 0;
    switch (random() % 6) {
    case 5:
        return (size_t)sprintf(out, ":%lld\r\n",
                               (long long)random() * 0x80000001LL * (random() % 5 - 2));
    case 0:
        used = (size_t)sprintf(out, "%c", random() % 2 == 0 ? '+' : '-');
        for (size_t i = 0; i < length; i++)
            out[used++] = (char)(' ' + random() % 95);
        return used + (size_t)sprintf(out + used, "\r\n");
    case 1:
        return (size_t)sprintf(out, ":%ld\r\n", (random() - random()) * (random() % 1000));
    case 2:
        return (size_t)sprintf(out, "$-1\r\n");
    default:
        used = (size_t)sprintf(out, "$%zu\r\n", length);
        for (size_t i = 0; i < length; i++)
            out[used++] = (char)random();
        return used + (size_t)sprintf(out + used, "\r\n");
    }
}

static size_t put_reply(char *out)
{
    int count;
    size_t used;
    if (random() % 3 != 0)
        return put_scalar(out);
    count = (int)(random() % 17);
    used = (size_t)sprintf(out, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        used += put_scalar(out + used);
    return used;
}

/* A copy of exactly that size, so that a sanitizer sees every byte read too many. */
static long decode_exact(const char *bytes, size_t size, struct rl_reply *reply)
{
    static char *copy;
    free(copy);
    copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    return rl_resp_decode(copy, size, reply);
}

CASE(prefixes_are_incomplete, "The decoder accepts every whole reply and no part of it.")
{
    char bytes[2048];
    struct rl_reply reply;
    srandom(1);
    for (int n = 0; n < 5000; n++) {
        size_t size = put_reply(bytes);
        CHECK_INT(size, decode_exact(bytes, size, &reply));
        for (size_t part = 0; part < size; part++)
            if (decode_exact(bytes, part, &reply) != 0)
                FAIL("reply %d: %zu of %zu bytes were not incomplete", n, part, size);
        bytes[size] = '+'; /* what follows is the next reply's */
        CHECK_INT(size, decode_exact(bytes, size + 1, &reply));
    }
    decode_exact("", 0, &reply);
}

#ifdef HAVE_HIREDIS
static bool same_scalar(const struct rl_scalar *ours, const redisReply *theirs)
{
    switch (ours->type) {
    case RL_REPLY_NIL:
        return theirs->type == REDIS_REPLY_NIL;
    case RL_REPLY_INTEGER:
        return theirs->type == REDIS_REPLY_INTEGER && theirs->integer == ours->integer;
    case RL_REPLY_STATUS:
    case RL_REPLY_ERROR:
    case RL_REPLY_BULK: {
        int type = ours->type == RL_REPLY_STATUS  ? REDIS_REPLY_STATUS
                   : ours->type == RL_REPLY_ERROR ? REDIS_REPLY_ERROR
                                                  : REDIS_REPLY_STRING;
        return theirs->type == type && (size_t)theirs->len == ours->text.size &&
               memcmp(theirs->str, ours->text.data, ours->text.size) == 0;
    }
    default:
        return false;
    }
}

static bool same_reply(const struct rl_reply *ours, const redisReply *theirs)
{
    if (ours->scalar.type != RL_REPLY_ARRAY)
        return same_scalar(&ours->scalar, theirs);
    if (theirs->type != REDIS_REPLY_ARRAY || theirs->elements != ours->element_count)
        return false;
    for (size_t i = 0; i < theirs->elements; i++)
        if (!same_scalar(&ours->element[i], theirs->element[i]))
            return false;
    return true;
}

/* Numbers such as 007, which hiredis refuses and the specification does not mention. */
static bool has_leading_zero(const char *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        size_t digit = bytes[i + 1] == '-' ? i + 2 : i + 1;
        if (strchr(":$*", bytes[i]) != NULL && bytes[digit] == '0' &&
            (digit == i + 2 || bytes[digit + 1] != '\r'))
            return true;
    }
    return false;
}

/* Feeds exactly what ours took: hiredis must make one reply of it and keep nothing. */
static void check_oracle(const char *bytes, size_t size, const struct rl_reply *ours, int n)
{
    void *theirs = NULL;
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, bytes, size);
    if (redisReaderGetReply(reader, &theirs) != REDIS_OK || theirs == NULL)
        FAIL("input %d: accepted by us, not by hiredis: %.*s", n, (int)size, bytes);
    if (!same_reply(ours, theirs))
        FAIL("input %d: another value than hiredis: %.*s", n, (int)size, bytes);
    if (size > 1) {
        void *early = NULL;
        redisReader *shorter = redisReaderCreate();
        redisReaderFeed(shorter, bytes, size - 1);
        if (redisReaderGetReply(shorter, &early) == REDIS_OK && early != NULL)
            FAIL("input %d: hiredis needs fewer bytes: %.*s", n, (int)size, bytes);
        redisReaderFree(shorter);
    }
    freeReplyObject(theirs);
    redisReaderFree(reader);
}

CASE(agrees_with_hiredis,
     "Random input that the decoder accepts is read as the same value by hiredis.")
{
    char bytes[2048];
    struct rl_reply reply;
    int accepted = 0, refused = 0;
    srandom(2);
    for (int n = 0; n < 200000; n++) {
        size_t size = put_reply(bytes);
        long taken;
        for (int i = (int)(random() % 4); i > 0; i--) {
            static const char likely[] = "\r\n$*+-:0123456789";
            char byte = random() % 2 == 0 ? likely[(size_t)random() % (sizeof likely - 1)]
                                          : (char)random();
            bytes[(size_t)random() % (size < 12 || random() % 2 ? size : 12)] = byte;
        }
        taken = decode_exact(bytes, size, &reply);
        CHECK(taken <= (long)size);
        accepted += taken > 0;
        refused += taken < 0;
        if (taken > 0 && !has_leading_zero(bytes, (size_t)taken))
            check_oracle(bytes, (size_t)taken, &reply, n);
    }
    CHECK(accepted > 20000 && refused > 20000);
    decode_exact("", 0, &reply);
}
#endif

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
