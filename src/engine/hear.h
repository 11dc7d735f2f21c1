/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way back: from the bytes of a node to the locks that its replies are for. vote.c decides
 * what a reply is worth, the core what follows from it.
 */
#ifndef RL_ENGINE_HEAR_H
#define RL_ENGINE_HEAR_H

#include "core/answer.h"
#include "core/op.h"
#include "protocol/reply.h"
#include "protocol/session.h"

struct rl_engine;
struct rl_link;

/*
 * Bytes were put into rl_session_room() of the link's session. -1: the caller must close the
 * connection and call rl_link_failed().
 */
int rl_link_received(struct rl_link *link, size_t size, int64_t now_ns);

/* The connection has ended: every request without a reply gets the node's vote as unreachable. */
void rl_hear_nothing(struct rl_engine *engine, uint8_t node, bool nothing_was_sent,
                     int64_t now_ns);

/*
 * One node's answer to one request of a claim, for the lock or the survey that counts it. reply:
 * NULL when there is none, or it has been judged before.
 */
void rl_hear_answer(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                    const struct rl_reply *reply, const struct rl_answer *answer,
                    int64_t now_ns);

#endif
