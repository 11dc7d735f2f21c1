/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-micro: nanoseconds per command encoded and per reply decoded, the library's own code
 * next to hiredis where that is installed. Both decode the same bytes, a batch at a time, as
 * they arrive from a socket.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "protocol/command.h"
#include "protocol/resp.h"
#ifdef HAVE_HIREDIS
#include <hiredis/hiredis.h>
#endif

#define BATCH 64      /* replies in one read */
#define REPEATS 20000 /* batches timed at once */
#define TRIES 5       /* of which the fastest counts: the others were disturbed */

static volatile uint64_t sink; /* what is computed must be used */

static const char set_key[] = "redlock:bench-00000000-0000-000000";
static const char set_value[] = "0123456789abcdef0123456789abcdef01234567";

static struct rl_slice slice(const char *text)
{
    return (struct rl_slice){text, strlen(text)};
}

/* ---- what is timed: each does one batch ---- */

static char batch[BATCH * 16];
static size_t batch_size;

static void encode_ours(void)
{
    static char out[256];
    struct rl_request request = {
        .name_count = 1, .keys = slice(set_key), .value = slice(set_value), .ttl_ms = 10000};
    struct rl_abilities abilities = {0};
    struct rl_words words;
    struct rl_command command;

    rl_words_write(&request, &words);
    for (int i = 0; i < BATCH; i++) {
        rl_command_write(&words, &abilities, &command);
        sink += (uint64_t)(rl_resp_encode(&command, out) - out);
    }
}

static void decode_ours(void)
{
    struct rl_reply reply;
    size_t at = 0;
    while (at < batch_size) {
        long taken = rl_resp_decode(batch + at, batch_size - at, &reply);
        if (taken <= 0)
            abort();
        at += (size_t)taken;
        sink += (uint64_t)reply.scalar.type;
    }
}

#ifdef HAVE_HIREDIS
static void encode_hiredis(void)
{
    const char *words[] = {"SET", set_key, set_value, "NX", "PX", "10000"};
    for (int i = 0; i < BATCH; i++) {
        char *out = NULL;
        sink += (uint64_t)redisFormatCommandArgv(&out, 6, words, NULL);
        redisFreeCommand(out);
    }
}

static redisReader *reader;

static void decode_hiredis(void)
{
    void *reply = NULL;
    redisReaderFeed(reader, batch, batch_size);
    for (int i = 0; i < BATCH; i++) {
        if (redisReaderGetReply(reader, &reply) != REDIS_OK || !reply)
            abort();
        sink += (uint64_t)((redisReply *)reply)->type;
        freeReplyObject(reply);
    }
}
#endif

/* ---- timing ---- */

static double ns_each(void (*one_batch)(void))
{
    double best_ns = 0;
    for (int try = 0; try < TRIES; try++) {
        int64_t start_ns = now_ns();
        for (int i = 0; i < REPEATS; i++)
            one_batch();
        double each_ns = (double)(now_ns() - start_ns) / ((double)REPEATS * BATCH);
        if (try == 0 || each_ns < best_ns)
            best_ns = each_ns;
    }
    return best_ns;
}

static void fill_batch(const char *reply)
{
    batch_size = 0;
    for (int i = 0; i < BATCH; i++) {
        memcpy(batch + batch_size, reply, strlen(reply));
        batch_size += strlen(reply);
    }
}

static void print_row(const char *what, void (*ours)(void), void (*theirs)(void))
{
    printf("%-22s %8.1f", what, ns_each(ours));
    if (theirs)
        printf(" %8.1f", ns_each(theirs));
    putchar('\n');
}

int main(void)
{
    void (*encode_theirs)(void) = NULL;
    void (*decode_theirs)(void) = NULL;
#ifdef HAVE_HIREDIS
    encode_theirs = encode_hiredis;
    decode_theirs = decode_hiredis;
    reader = redisReaderCreate();
#endif
    printf("%-22s %8s%s\n", "ns each", "ours", encode_theirs ? "  hiredis" : "");
    print_row("encode SET NX PX", encode_ours, encode_theirs);
    fill_batch("+OK\r\n");
    print_row("decode +OK", decode_ours, decode_theirs);
    fill_batch(":1\r\n");
    print_row("decode :1", decode_ours, decode_theirs);
    fill_batch("$-1\r\n");
    print_row("decode $-1", decode_ours, decode_theirs);
#ifdef HAVE_HIREDIS
    redisReaderFree(reader);
#endif
    return EXIT_SUCCESS;
}
