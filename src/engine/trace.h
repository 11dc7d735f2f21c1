/* SPDX-License-Identifier: BSD-2-Clause */
/* What the engine writes to a client's trace (core/trace.h), if there is one. */
#ifndef RL_ENGINE_TRACE_H
#define RL_ENGINE_TRACE_H

#include "engine/engine.h"

/* About a node, and a lock: the attempt; NULL: about no lock. Only with engine->trace. */
void rl_trace_node(const struct rl_engine *engine, uint8_t node,
                   const struct rl_attempt *attempt, uint32_t round, const char *what,
                   const char *text);

/* A reply, decoded: to a request for a lock, or that of an attestation. */
void rl_trace_reply(const struct rl_engine *engine, uint8_t node,
                    const struct rl_pending *pending, const struct rl_reply *reply);

/*
 * A lock has made a step: the votes that it has counted since `votes`, and what it has decided.
 * past and votes: as they were before.
 */
void rl_trace_step(const struct rl_engine *engine, const struct rl_handle *handle,
                   const struct rl_lock *past, const struct rl_node_vote *votes,
                   const struct rl_event *event, const struct rl_actions *actions);

/* A request to all nodes is answered. */
void rl_trace_survey(const struct rl_engine *engine, const struct rl_handle *handle);

/* Nodes that may vote now and could not before, or the other way round. */
void rl_trace_standings(struct rl_engine *engine, int64_t now_ns);

#endif
