/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's side of RESP: requests in, replies out. */
#ifndef FAKE_REPLY_H
#define FAKE_REPLY_H

#include <stdint.h>

#include "lab/fake/bytes.h"
#include "protocol/reply.h"

#define FAKE_WORDS_MAX 64

/* A request; its words point into the bytes it was read from. */
struct fake_words {
    uint32_t count;
    struct rl_slice word[FAKE_WORDS_MAX];
};

/* Bytes taken; 0: not complete yet; -1: no request at all. */
long fake_request_read(const char *bytes, size_t size, struct fake_words *out);

/* As servers write scores, and numbers that a script gives to a command. */
void fake_write_double(char *out, size_t size, double number);

void fake_reply_status(struct fake_bytes *out, const char *text);
void fake_reply_error(struct fake_bytes *out, const char *text);
void fake_reply_integer(struct fake_bytes *out, int64_t number);
void fake_reply_bulk(struct fake_bytes *out, struct rl_slice text);
void fake_reply_text(struct fake_bytes *out, const char *text);
void fake_reply_nil(struct fake_bytes *out);
/* So many replies follow. */
void fake_reply_array(struct fake_bytes *out, uint32_t count);

#endif
