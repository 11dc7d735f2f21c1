/* SPDX-License-Identifier: BSD-2-Clause */
/* From a node's reply to what it means for a lock. */
#ifndef RL_PROTOCOL_ANSWER_H
#define RL_PROTOCOL_ANSWER_H

#include "base/slice.h"
#include "core/answer.h"
#include "core/op.h"
#include "protocol/reply.h"

/* by_script: the request was a script, and must be answered like one. */
struct rl_answer rl_answer_read(enum rl_op op, bool by_script, const struct rl_reply *reply);

/* The vote of an attestation: GRANTED with the marker, or why there is none. */
struct rl_answer rl_answer_read_attestation(const struct rl_reply *reply);

/* The vote and the reason that an error reply means, by its first word. */
enum redlock_vote rl_answer_error_vote(struct rl_slice error, enum redlock_reason *reason);

/*
 * Servers name the command that a user may not run: "... to run the 'eval' command". Its size;
 * 0: this error names none.
 */
size_t rl_answer_missing_right(const char *error, const char **command);

#endif
