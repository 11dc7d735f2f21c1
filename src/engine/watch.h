/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeping an eye on the nodes: admissions, repeated checks, clocks that step. */
#ifndef RL_ENGINE_WATCH_H
#define RL_ENGINE_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct rl_engine;
struct rl_guard;

/* Looks at what is due: admissions, repeated checks, clock samples. */
void rl_watch_tick(struct rl_engine *engine, int64_t now_ns);
/* Before a request that leans on a node's clock: a sample, unless there is a recent one. */
void rl_watch_use(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* After a node's replies: did its clock step, or its standing change? */
void rl_watch_heard(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* What a person should know about a node's quarantine; empty when it has none. */
void rl_watch_describe(const struct rl_guard *guard, int64_t now_ns, char *out, size_t size);

#endif
