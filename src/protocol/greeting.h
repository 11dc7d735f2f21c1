/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session says first, and what it learns from the answers. */
#ifndef RL_PROTOCOL_GREETING_H
#define RL_PROTOCOL_GREETING_H

#include "protocol/session.h"

/* Writes the greeting in front of an empty output. -1: out of memory. */
int rl_greeting_write(struct rl_session *session, int64_t now_ns);

/*
 * Understands the reply to one step of it. 1: the node refuses us, failure says why. -1: that
 * was no answer to the question.
 */
int rl_greeting_answer(struct rl_session *session, uint16_t step, const struct rl_reply *reply);

/* What is asked in it, for the trace. */
const char *rl_greeting_step_name(uint16_t step);

#endif
