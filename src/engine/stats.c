/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/stats.h"

#include "engine/engine.h"

static const int64_t bounds_us[] = REDLOCK_BUCKET_BOUNDS_US;
_Static_assert(sizeof bounds_us / sizeof bounds_us[0] == REDLOCK_BUCKETS - 1,
               "the last bucket has no bound");

static void measure(redlock_histogram *histogram, int64_t ns)
{
    int64_t us = ns > 0 ? ns / 1000 : 0;
    int i = 0;

    while (i < REDLOCK_BUCKETS - 1 && us > bounds_us[i])
        i++;
    histogram->bucket[i]++;
    histogram->count++;
    histogram->sum_us += (uint64_t)us;
}

static bool is_acquiring(enum rl_state state)
{
    return state >= RL_ACQUIRING && state < RL_HELD;
}

void rl_stats_refused(redlock_stats *stats, int error)
{
    switch (error) {
    case REDLOCK_BUSY:
        stats->refused_busy++;
        return;
    case REDLOCK_TIMEOUT:
        stats->refused_timeout++;
        return;
    case REDLOCK_NOQUORUM:
        stats->refused_noquorum++;
        return;
    case REDLOCK_GUARDED:
        stats->refused_guarded++;
        return;
    case REDLOCK_CANCELED:
        stats->refused_canceled++;
        return;
    default:
        stats->refused_other++;
    }
}

static void count_end(redlock_stats *stats, const struct rl_lock *past,
                      const struct rl_event *event, const struct rl_actions *actions)
{
    stats->held--;
    /* Since when an adopted lock is held is not known before it was extended. */
    if (past->acquired_ns)
        measure(&stats->hold, event->now_ns - past->acquired_ns);
    if (!actions->lost)
        ++*(event->type == RL_EVENT_TOO_LATE ? &stats->late : &stats->released);
    else if (actions->loss == RL_LOSS_EXPIRED)
        stats->lost_expired++;
    else if (actions->loss == RL_LOSS_MISSING)
        stats->lost_missing++;
    else
        stats->lost_doubt++;
}

/* A renewal that is late is counted as failed once, whatever comes of it. */
static void count_renewal(redlock_stats *stats, const struct rl_lock *lock,
                          const struct rl_lock *past)
{
    bool was_late = past->round_deadline_ns == RL_NEVER_NS;

    if (lock->extension_count != past->extension_count)
        stats->renewed++;
    else if (!was_late && (!lock->extending || lock->round_deadline_ns == RL_NEVER_NS))
        stats->renewals_failed++;
}

void rl_stats_step(redlock_stats *stats, const struct rl_handle *handle,
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
            measure(&stats->wait, event->now_ns - rl_acquirer_of(handle)->asked_ns);
        } else {
            rl_stats_refused(stats, handle->prepare_error ? handle->prepare_error
                                                          : actions->done_error);
        }
    }
    if (past->state == RL_HELD && lock->state != RL_HELD)
        count_end(stats, past, event, actions);
    else if (past->state == RL_HELD && past->extending)
        count_renewal(stats, lock, past);
    if (actions->done && actions->done_error &&
        (past->state == RL_RELEASING || past->state == RL_CHECKING))
        stats->releases_failed++;
}

void rl_stats_adopted(redlock_stats *stats)
{
    stats->adopted++;
    stats->held++;
}

void rl_stats_dropped(redlock_stats *stats, const struct rl_handle *handle, int64_t now_ns)
{
    if (is_acquiring(handle->lock.state)) {
        stats->waiting--;
        stats->refused_canceled++;
    } else if (handle->lock.state == RL_HELD) {
        stats->held--;
        stats->left++;
        if (handle->lock.acquired_ns)
            measure(&stats->hold, now_ns - handle->lock.acquired_ns);
    }
}

void rl_stats_late(redlock_stats *stats)
{
    stats->released--;
    stats->late++;
}
