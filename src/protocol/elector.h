/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words between a client and an elector: a Sentinel, asked for its id and for the master of
 * the group; or a node of a cluster, asked for what it knows of all nodes, itself and the
 * owners of the votes' slots among them. A session whose login is that of an elector says these
 * instead of the node's checks.
 */
#ifndef RL_PROTOCOL_ELECTOR_H
#define RL_PROTOCOL_ELECTOR_H

#include "protocol/session.h"

/* Asks for its id, and for the term; behind the login. -1: out of memory. */
int rl_elector_greet(struct rl_session *session, int64_t now_ns);
/* Asks for the term, unless that question is already out. */
int rl_elector_request(struct rl_session *session, int64_t now_ns);

/* Understands a reply. -1: that was no answer; 1: the session has failed, and says why. */
int rl_elector_answer(struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply);

#endif
