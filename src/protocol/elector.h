/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words between a client and an elector: a Sentinel, which reports its id and the master of
 * the group; or a node of a cluster, which reports what it knows of all nodes, itself and the
 * owners of the votes' slots among them. A session whose login is that of an elector sends
 * these instead of the node's checks.
 */
#ifndef RL_PROTOCOL_ELECTOR_H
#define RL_PROTOCOL_ELECTOR_H

#include "protocol/session.h"

/* Requests its id and the term, behind the login. -1: out of memory. */
int rl_elector_greet(struct rl_session *session, int64_t now_ns);
/* Requests the term, unless that request is already out. */
int rl_elector_request(struct rl_session *session, int64_t now_ns);

/* Understands a reply. -1: that was no answer; 1: the session has failed, and has the cause. */
int rl_elector_answer(struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply);

#endif
