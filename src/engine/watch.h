/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeping an eye on the nodes: admissions, repeated checks, clocks that step. */
#ifndef RL_ENGINE_WATCH_H
#define RL_ENGINE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

#define RL_CLOCK_SAMPLE_EVERY_NS RL_NS_PER_S
/* Of a Sentinel group without a set. */
#define RL_WATCH_NO_ELECTORS                                                                   \
    "not initialised, or its master came back without its data: wait for the longest TTL, "    \
    "then admit it"
/*
 * A node gets a request after that long without a reply, if the owner wants to know how it is.
 */
#define RL_WATCH_SILENCE_NS (4 * RL_NS_PER_S)

/* Looks at what is due: admissions, repeated checks, clock samples. */
void rl_watch_tick(struct rl_engine *engine, int64_t now_ns);
/*
 * From now on nodes get requests now and then without locks, too: one that hangs is found by
 * the answer that it owes (rl_link_due_ns()).
 */
void rl_watch_idle(struct rl_engine *engine);
/* A sample of the node's clock, if it is up, and the next tick within the interval. */
void rl_watch_sample(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* After a node's replies: did its clock step, or its standing change? */
void rl_watch_look(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/*
 * Why a node is in quarantine, and in words what a person should know; NONE, empty: it is not.
 */
enum redlock_reason rl_watch_describe(const struct rl_guard *guard, int64_t now_ns, char *out,
                                      size_t size);

/* Before a request that leans on a node's clock: a sample, unless there is a recent one. */
static inline void rl_watch_before_use(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    int64_t answered_ns = engine->node[node].session.clock_answered_ns;

    if (engine->node[node].elected)
        rl_elected_request(engine, node, RL_ELECTORS_EVERY_NS, now_ns);
    if (engine->guard_mode != RL_GUARD_OFF &&
        (now_ns - answered_ns >= RL_CLOCK_SAMPLE_EVERY_NS ||
         engine->watch_at_ns > now_ns + RL_CLOCK_SAMPLE_EVERY_NS))
        rl_watch_sample(engine, node, now_ns);
}

#endif
