/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way out: from a step that a lock has decided on to requests in the nodes' sessions.
 *
 * A request is filled from the lock and its attempt, once; protocol/ turns it into words, and
 * for every node into the command that this node understands. What is pushed into a session
 * leaves with its next write.
 */
#ifndef RL_ENGINE_SEND_H
#define RL_ENGINE_SEND_H

#include "core/lock.h"
#include "engine/attempt.h"

struct rl_engine;
struct rl_handle;

/* Sends to the nodes of one step; returns those it could not send to, a bit each. */
uint16_t rl_send_to_nodes(struct rl_engine *engine, struct rl_handle *handle,
                          const struct rl_send *send, int64_t now_ns);

/*
 * Sends one node a request about an attempt. handle: the one that the attempt belongs to; NULL
 * for what an attempt still needs after its handle has gone (giving back). False: the node
 * cannot be sent to now.
 */
bool rl_send_to_node(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                     const struct rl_handle *handle, enum rl_op op, uint32_t round,
                     int64_t now_ns);

/* The same with the text of the script. False as well if no script is needed for it. */
bool rl_send_to_node_by_text(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                             const struct rl_handle *handle, enum rl_op op, uint32_t round,
                             int64_t now_ns);

/* Does this node give the lock back without a script, and so without waking a waiter? */
bool rl_node_deletes_natively(const struct rl_engine *engine, uint8_t node,
                              const struct rl_attempt *attempt);

#endif
