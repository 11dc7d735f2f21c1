/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way back: from the bytes of a node to the locks that its replies are for (receive.c).
 * vote.c decides what a reply is worth, and lists the checks; the core what follows from it.
 */
#ifndef RL_ENGINE_RECEIVE_H
#define RL_ENGINE_RECEIVE_H

#include "core/answer.h"
#include "core/op.h"
#include "protocol/reply.h"
#include "protocol/session.h"

struct rl_engine;
struct rl_link;
struct rl_unconfirmed;

/*
 * Bytes were put into rl_session_room() of the link's session. -1: the caller must close the
 * connection and call rl_link_failed().
 */
int rl_link_received(struct rl_link *link, size_t size, int64_t now_ns);

/*
 * One node's answer to one request of an attempt, for the lock or the survey that counts it.
 * reply: NULL when there is none, or it has been judged before.
 */
void rl_deliver_answer(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                       const struct rl_reply *reply, const struct rl_answer *answer,
                       int64_t now_ns);

/* The connection has ended: every request without a reply gets the node's
 * vote as unreachable. */
void rl_end_requests(struct rl_engine *engine, uint8_t node, bool nothing_was_sent,
                     int64_t now_ns);

/* ---- vote.c ---- */

/*
 * What a reply to a request of an attempt is worth. False: the grant waits for its attestation,
 * or is kept (rl_vote_give_kept()), and has the request's reference to the attempt.
 */
bool rl_vote_judge(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                   const struct rl_reply *reply, int64_t now_ns, struct rl_answer *out);

/* The attestation has answered. False: not yet, its script had to be sent again. */
bool rl_vote_read_attestation(struct rl_engine *engine, uint8_t node,
                              const struct rl_reply *reply, int64_t now_ns,
                              struct rl_answer *attestation);
/* What a grant that waited for it is worth after all. False: it is kept. */
bool rl_vote_judge_by_attestation(struct rl_engine *engine, uint8_t node,
                                  const struct rl_unconfirmed *grant,
                                  const struct rl_answer *attestation, int64_t now_ns,
                                  struct rl_answer *out);

/* Counts what was kept, as far as what it waited for has come. */
void rl_vote_give_kept(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The connection has ended: what was kept is not counted. */
void rl_vote_lose_kept(struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* The vote of a node that cannot be reached now, or will not answer any more. */
struct rl_answer rl_vote_when_unreachable(const struct rl_engine *engine, uint8_t node);

#endif
