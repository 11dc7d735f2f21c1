/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node's reply is worth: vote.c lists the checks between it and the tally of a lock. */
#ifndef RL_ENGINE_VOTE_H
#define RL_ENGINE_VOTE_H

#include "core/answer.h"
#include "protocol/reply.h"
#include "protocol/session.h"

struct rl_claim;
struct rl_engine;

/*
 * What a reply to a request of a claim is worth. False: the grant waits for its witness, which
 * gives the answer to rl_hear_answer() later; it has the request's reference to the claim.
 */
bool rl_vote_judge(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                   const struct rl_reply *reply, int64_t now_ns, struct rl_answer *out);

/* The witness has answered: the grants that waited for it are worth this. */
void rl_vote_hear_witness(struct rl_engine *engine, uint8_t node, const struct rl_reply *reply,
                          int64_t now_ns);

/* The connection has ended, and with it the witness: those grants are not counted. */
void rl_vote_lose_witness(struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* The vote of a node that cannot be asked now, or will not answer any more. */
struct rl_answer rl_vote_when_unreachable(const struct rl_engine *engine, uint8_t node);

#endif
