/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting what becomes of acquisitions and holds (redlock_stats). Every step of a lock is looked at
 * once, before and after: what it was and what it is tells what to count. Plain numbers under the
 * client's mutex; no clock is read for them.
 */
#ifndef RL_ENGINE_STATS_H
#define RL_ENGINE_STATS_H

#include "core/lock.h"
#include "redlock.h"

struct rl_engine;
struct rl_handle;

/*
 * past: the lock before the step. Before the actions are carried out, which may lead to further steps.
 */
void rl_stats_step(redlock_stats *stats, const struct rl_handle *handle,
                   const struct rl_lock *past, const struct rl_event *event,
                   const struct rl_actions *actions);
/* An acquisition that could not even begin. */
void rl_stats_refused(redlock_stats *stats, int error);
void rl_stats_adopted(redlock_stats *stats);
/* The handle is dropped; what it still has is left to the nodes. */
void rl_stats_dropped(redlock_stats *stats, const struct rl_handle *handle, int64_t now_ns);
/* What was just counted as released was given back because its wait had ended (A9). */
void rl_stats_late(redlock_stats *stats);

#endif
