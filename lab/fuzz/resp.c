/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoder of replies: never a byte too far, the same result however the bytes were cut, and
 * what it accepts hiredis reads the same. The input is the stream; its first byte says how it
 * is cut. 0xfe as the second byte makes runs out of pairs (length, byte), so that small inputs
 * reach the limits.
 */
#include "protocol/resp.h"

#include <string.h>

#include "fuzz.h"
#include "protocol/session.h"

#ifdef HAVE_HIREDIS
#include <hiredis/hiredis.h>
#endif

#define STREAM_MAX (4 * RL_SESSION_INPUT_SIZE)
#define PREFIXES_MAX 512 /* every prefix is tried below this size */
#define RUNS 0xfe
#define RUN_UNIT 64

static long decode_exact(const char *bytes, size_t size, struct rl_reply *reply)
{
    char *copy = fuzz_copy(bytes, size);
    long taken = rl_resp_decode(copy, size, reply);

    FUZZ_CHECK(taken >= -1 && taken <= (long)size);
    /* The caller keeps what is incomplete in a buffer of this size: it must end before. */
    if (taken == 0)
        FUZZ_CHECK(size < RL_SESSION_INPUT_SIZE);
    if (taken > 0 && reply->scalar.type == RL_REPLY_ARRAY)
        FUZZ_CHECK(reply->element_count <= RL_REPLY_ELEMENTS_MAX && taken <= RL_RESP_REPLY_MAX);
    free(copy);
    return taken;
}

#ifdef HAVE_HIREDIS
static bool same_scalar(const struct rl_scalar *ours, const redisReply *theirs)
{
    static const int types[] = {
        [RL_REPLY_STATUS] = REDIS_REPLY_STATUS,   [RL_REPLY_ERROR] = REDIS_REPLY_ERROR,
        [RL_REPLY_INTEGER] = REDIS_REPLY_INTEGER, [RL_REPLY_BULK] = REDIS_REPLY_STRING,
        [RL_REPLY_NIL] = REDIS_REPLY_NIL,         [RL_REPLY_ARRAY] = REDIS_REPLY_ARRAY,
    };

    if (theirs->type != types[ours->type])
        return false;
    if (ours->type == RL_REPLY_INTEGER)
        return theirs->integer == ours->integer;
    if (ours->type == RL_REPLY_NIL || ours->type == RL_REPLY_ARRAY)
        return true;
    return (size_t)theirs->len == ours->text.size &&
           memcmp(theirs->str, ours->text.data, ours->text.size) == 0;
}

/* Numbers such as 007, and -0: hiredis refuses them, the specification does not say. */
static bool has_odd_number(const char *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        size_t digit = bytes[i + 1] == '-' ? i + 2 : i + 1;

        if (strchr(":$*", bytes[i]) && bytes[digit] == '0' &&
            (digit == i + 2 || bytes[digit + 1] != '\r'))
            return true;
    }
    return false;
}

static void compare(const char *bytes, size_t size)
{
    redisReader *reader = redisReaderCreate();
    struct rl_reply ours;
    redisReply *theirs;
    void *read = NULL;

    FUZZ_CHECK(rl_resp_decode(bytes, size, &ours) == (long)size);
    redisReaderFeed(reader, bytes, size);
    FUZZ_CHECK(redisReaderGetReply(reader, &read) == REDIS_OK && read);
    theirs = read;
    FUZZ_CHECK(same_scalar(&ours.scalar, theirs));
    if (ours.scalar.type == RL_REPLY_ARRAY) {
        FUZZ_CHECK(theirs->elements == ours.element_count);
        for (size_t i = 0; i < theirs->elements; i++)
            FUZZ_CHECK(same_scalar(&ours.element[i], theirs->element[i]));
    }
    freeReplyObject(theirs);
    redisReaderFree(reader);
}
#else
static bool has_odd_number(const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return true;
}

static void compare(const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
}
#endif

/* What a prefix settles stays settled: complete as it is, or broken for good. */
static void check_prefixes(const char *bytes, size_t size, long whole)
{
    for (size_t part = 0; part < size && part < PREFIXES_MAX; part++) {
        struct rl_reply reply;
        long taken = decode_exact(bytes, part, &reply);

        if (taken != 0)
            FUZZ_CHECK(taken == whole);
    }
}

/* The replies of the stream as sizes, ended by 0 or -1; cut: how many bytes come at a time. */
static size_t read_stream(const char *bytes, size_t size, size_t cut, long *sizes, size_t most)
{
    size_t start = 0;
    size_t end = 0;
    size_t count = 0;

    while (count + 1 < most) {
        struct rl_reply reply;
        long taken = decode_exact(bytes + start, end - start, &reply);

        if (taken > 0) {
            sizes[count++] = taken;
            start += (size_t)taken;
        } else if (taken < 0 || end == size) {
            sizes[count++] = taken;
            break;
        } else {
            end += cut < size - end ? cut : size - end;
        }
    }
    return count;
}

/* A command that is written is read back as the array that it is. */
static void check_encoding(const char *bytes, size_t size)
{
    struct rl_command command = {.argument_count = RL_ARGUMENTS_MAX};
    struct rl_reply reply;
    size_t encoded;
    char *out;

    if (size > RL_RESP_BULK_MAX)
        size = RL_RESP_BULK_MAX;
    for (uint32_t i = 0; i < RL_ARGUMENTS_MAX; i++)
        command.argument[i] =
            (struct rl_slice){bytes + size * i / RL_ARGUMENTS_MAX, size / RL_ARGUMENTS_MAX};
    encoded = rl_resp_encoded_size(&command);
    out = malloc(encoded);
    FUZZ_CHECK(out && rl_resp_encode(&command, out) == out + encoded);
    FUZZ_CHECK(rl_resp_decode(out, encoded, &reply) == (long)encoded);
    for (uint32_t i = 0; i < RL_ARGUMENTS_MAX; i++)
        FUZZ_CHECK(reply.element[i].text.size == command.argument[i].size &&
                   memcmp(reply.element[i].text.data, command.argument[i].data,
                          command.argument[i].size) == 0);
    free(out);
}

static size_t expand(struct fuzz_input *input, char *out)
{
    size_t used = 0;

    while (input->left > 0 && used < STREAM_MAX) {
        size_t count = (size_t)fuzz_byte(input) * RUN_UNIT + 1;
        char byte = (char)fuzz_byte(input);

        for (; count > 0 && used < STREAM_MAX; count--)
            out[used++] = byte;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char expanded[STREAM_MAX];
    struct fuzz_input input = {bytes, size};
    size_t cut = (size_t)fuzz_byte(&input) + 1;
    const char *stream = (const char *)input.at;
    size_t stream_size = input.left;
    struct rl_reply reply;
    long whole, in_one[64], in_pieces[64];
    size_t count;

    if (input.left > 0 && *input.at == RUNS) {
        fuzz_byte(&input);
        stream_size = expand(&input, expanded);
        stream = expanded;
    }
    if (!stream_size)
        return 0;
    whole = decode_exact(stream, stream_size, &reply);
    check_prefixes(stream, stream_size, whole);
    if (whole > 0 && !has_odd_number(stream, (size_t)whole))
        compare(stream, (size_t)whole);
    check_encoding(stream, stream_size);

    count = read_stream(stream, stream_size, stream_size, in_one, 64);

    /* One byte at a time costs a decoding per byte: for the short ones. */
    if (stream_size > PREFIXES_MAX)
        cut *= RUN_UNIT;
    FUZZ_CHECK(read_stream(stream, stream_size, cut, in_pieces, 64) == count);
    FUZZ_CHECK(memcmp(in_one, in_pieces, count * sizeof in_one[0]) == 0);
    return 0;
}
