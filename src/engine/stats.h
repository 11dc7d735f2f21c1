/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting, for redlock_counters. Every step of a lock is looked at once: what it was before
 * and what it is afterwards decide what to count. Plain numbers under the client's mutex; no
 * clock is read for them.
 */
#ifndef RL_ENGINE_STATS_H
#define RL_ENGINE_STATS_H

#include "engine/handle.h"

/* past: the lock before the step. Call it before the actions are carried out, which may lead
 * to further steps. */
void rl_stats_step(redlock_counters *stats, const struct rl_handle *handle,
                   const struct rl_lock *past, const struct rl_event *event,
                   const struct rl_actions *actions);
/* A lock whose handle goes: what it still has is left to the nodes. */
void rl_stats_drop(redlock_counters *stats, const struct rl_lock *lock, int64_t now_ns);

#endif
