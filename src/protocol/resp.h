/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RESP2, both ways, with hard limits and without allocation.
 *
 * The decoder is a function of the bytes alone: it looks at the start of a buffer and returns
 * how many bytes the first reply takes. What exceeds a limit is an error at the header that
 * announces it, so a server cannot make us keep more than RL_RESP_REPLY_MAX bytes.
 */
#ifndef RL_PROTOCOL_RESP_H
#define RL_PROTOCOL_RESP_H

#include <stddef.h>

#include "protocol/command.h"
#include "protocol/reply.h"

#define RL_RESP_LINE_MAX 4096   /* a status, error or number */
#define RL_RESP_BULK_MAX 16384  /* INFO is the longest text that is ever requested */
#define RL_RESP_REPLY_MAX 32768 /* the longest reply altogether */

/*
 * Decodes the first reply of the buffer. Returns its size in bytes, 0 when it is not complete
 * yet, or -1 when the bytes are not RESP2 within the limits. *out is valid only for a positive
 * return, and points into the buffer.
 */
long rl_resp_decode(const char *bytes, size_t size, struct rl_reply *out);

/* The same with another limit for a bulk: of the one text that is longer, CLUSTER NODES. */
long rl_resp_decode_long(const char *bytes, size_t size, int64_t bulk_max,
                         struct rl_reply *out);

/* How many bytes the command takes on the wire. */
size_t rl_resp_encoded_size(const struct rl_command *command);

/* Writes the command, rl_resp_encoded_size() bytes of it; returns the end. */
char *rl_resp_encode(const struct rl_command *command, char *out);

#endif
