/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's side of RESP: requests in, replies out. */
#ifndef SIM_REPLY_H
#define SIM_REPLY_H

#include <stdint.h>

#include "lab/sim/bytes.h"
#include "protocol/reply.h"

#define SIM_WORDS_MAX 64

/* A request; its words point into the bytes it was read from. */
struct sim_words {
    uint32_t count;
    struct rl_slice word[SIM_WORDS_MAX];
};

/* Bytes taken; 0: not complete yet; -1: no request at all. */
long sim_request_read(const char *bytes, size_t size, struct sim_words *out);

/* As servers write scores, and numbers that a script gives to a command. */
void sim_write_double(char *out, size_t size, double number);

void sim_reply_status(struct sim_bytes *out, const char *text);
void sim_reply_error(struct sim_bytes *out, const char *text);
void sim_reply_integer(struct sim_bytes *out, int64_t number);
void sim_reply_bulk(struct sim_bytes *out, struct rl_slice text);
void sim_reply_text(struct sim_bytes *out, const char *text);
void sim_reply_nil(struct sim_bytes *out);
/* So many replies follow. */
void sim_reply_array(struct sim_bytes *out, uint32_t count);

#endif
