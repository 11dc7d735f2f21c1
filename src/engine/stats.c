/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/stats.h"

#include "base/histogram.h"

static bool is_acquiring(enum rl_state state)
{
    return state >= RL_ACQUIRING && state < RL_HELD;
}

static uint64_t *refusals_of(redlock_counters *stats, int error)
{
    switch (error) {
    case REDLOCK_BUSY:
        return &stats->refused_busy;
    case REDLOCK_TIMEOUT:
        return &stats->refused_timeout;
    case REDLOCK_NOQUORUM:
        return &stats->refused_noquorum;
    case REDLOCK_GUARDED:
        return &stats->refused_guarded;
    case REDLOCK_CANCELED:
        return &stats->refused_canceled;
    default:
        return &stats->refused_other;
    }
}

void rl_stats_step(redlock_counters *stats, const struct rl_handle *handle,
                   const struct rl_lock *past, const struct rl_event *event,
                   const struct rl_actions *actions)
{
    const struct rl_lock *lock = &handle->lock;
    bool was_acquiring = is_acquiring(past->state);
    bool acquires = is_acquiring(lock->state);

    stats->waiting += acquires;
    stats->waiting -= was_acquiring;
    /* An acquisition has its outcome. */
    if (!acquires && (was_acquiring || event->type == RL_EVENT_ACQUIRE)) {
        if (lock->state == RL_HELD) {
            stats->acquired++;
            stats->held++;
            rl_histogram_add(&stats->wait,
                             event->now_ns - rl_pending_acquire_of(handle)->requested_ns);
        } else {
            ++*refusals_of(stats,
                           handle->prepare_error ? handle->prepare_error : actions->done_error);
        }
    }
    if (past->state == RL_HELD && lock->state == RL_HELD && past->extending) {
        /* A renewal that is late is counted as failed once, whatever comes of it. */
        if (lock->extension_count != past->extension_count)
            stats->renewed++;
        else if (past->round_deadline_ns != RL_NEVER_NS &&
                 (!lock->extending || lock->round_deadline_ns == RL_NEVER_NS))
            stats->renewals_failed++;
    }
    if (past->state == RL_HELD && lock->state != RL_HELD) {
        stats->held--;
        /* Since when an adopted lock is held is not known before it was extended. */
        if (past->acquired_ns)
            rl_histogram_add(&stats->hold, event->now_ns - past->acquired_ns);
        if (!actions->lost)
            ++*(event->type == RL_EVENT_TOO_LATE ? &stats->late : &stats->released);
        else if (actions->loss == RL_LOSS_EXPIRED)
            stats->lost_expired++;
        else if (actions->loss == RL_LOSS_MISSING)
            stats->lost_missing++;
        else
            stats->lost_doubt++;
    }
    if (actions->done && actions->done_error &&
        (past->state == RL_RELEASING || past->state == RL_CHECKING))
        stats->releases_failed++;
}

void rl_stats_drop(redlock_counters *stats, const struct rl_lock *lock, int64_t now_ns)
{
    if (is_acquiring(lock->state)) {
        stats->waiting--;
        stats->refused_canceled++;
    } else if (lock->state == RL_HELD) {
        stats->held--;
        stats->left++;
        if (lock->acquired_ns)
            rl_histogram_add(&stats->hold, now_ns - lock->acquired_ns);
    }
}
