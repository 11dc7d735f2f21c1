/* SPDX-License-Identifier: BSD-2-Clause */
/* After an attempt that failed: rollback, and another attempt, the queue or the
 * end (A4, A9). */
#include "core/lock_internal.h"
#include "core/rules.h"

/*
 * No attempt starts in the last moments of a wait: it could hardly win in time, and its answers
 * would replace what is known about the holder.
 */
#define LAST_MOMENTS_NS (5 * RL_NS_PER_MS)

/* Nodes that refuse at once must not turn a wait into a busy loop. */
#define RETRY_FLOOR_NS (500 * RL_NS_PER_US)

/* A semaphore is tried this often in a row, as long as nodes report a free slot. */
#define SLOT_TRIES_MAX 8

/*
 * Full jitter, growing, bounded: contenders that split the nodes among them must not meet
 * again in step. A delay that would end after the wait deadline is drawn from what is left.
 */
static int64_t retry_at_ns(const struct rl_lock *lock, int64_t now_ns, uint32_t random)
{
    const struct rl_acquisition *acquisition = lock->acquisition;
    int64_t bound_ns = lock->policy->retry_min_ns;
    int64_t left_ns = acquisition->wait_deadline_ns - now_ns - LAST_MOMENTS_NS;

    if (left_ns <= 0)
        return RL_NEVER_NS;

    for (uint32_t i = 1;
         i < acquisition->attempt_count && bound_ns < lock->policy->retry_max_ns; i++)
        bound_ns *= 2;
    if (bound_ns > lock->policy->retry_max_ns)
        bound_ns = lock->policy->retry_max_ns;
    if (bound_ns > left_ns)
        bound_ns = left_ns;
    return now_ns + RETRY_FLOOR_NS + bound_ns / 65536 * (random >> 16);
}

/* Is one value of our tag, that another request made, on a majority of the nodes? */
static bool is_held_under_tag(const struct rl_lock *lock)
{
    const uint32_t *same_tag = lock->acquisition->same_tag;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        uint8_t count = 0;

        for (uint8_t j = 0; same_tag[i] && j < lock->policy->node_count; j++)
            count += same_tag[j] == same_tag[i];
        if (count >= lock->policy->quorum)
            return true;
    }
    return false;
}

/* Enough nodes could have voted for us, but another's keys are there: busy, not broken. */
static int attempt_error(const struct rl_lock *lock)
{
    uint8_t taken_count = rl_votes_of(lock, REDLOCK_VOTE_TAKEN);
    uint8_t failed_count = (uint8_t)(lock->tally.no_count - taken_count);

    if (is_held_under_tag(lock))
        return REDLOCK_YOURS;
    /* By its second name a server refuses what it has just granted us by the first. */
    if (lock->acquisition->counts_once)
        return REDLOCK_GUARDED;
    if (taken_count > 0 && lock->policy->node_count - failed_count >= lock->policy->quorum)
        return REDLOCK_BUSY;
    return rl_no_quorum_error(lock);
}

int rl_acquire_final_error(const struct rl_lock *lock)
{
    const struct rl_acquisition *acquisition = lock->acquisition;

    if (is_held_under_tag(lock))
        return REDLOCK_YOURS;
    /* After a wait, "busy" means that the wait was not long enough. */
    if (acquisition->attempt_error == REDLOCK_BUSY && acquisition->wait_deadline_ns)
        return REDLOCK_TIMEOUT;
    return acquisition->attempt_error;
}

void rl_acquire_give_up(struct rl_lock *lock, struct rl_actions *out, int error)
{
    /* Waiters behind us must not wait for a waiter that has gone. */
    if (lock->acquisition->ticket && RL_RULE(LEAVING))
        rl_send(out, RL_OP_LEAVE, lock->policy->all_nodes, lock->round);
    rl_queue_forget(lock);
    lock->state = RL_ENDED;
    rl_finish(out, error);
}

void rl_acquire_quit(struct rl_lock *lock, struct rl_actions *out, int error)
{
    rl_send(out, lock->acquisition->ticket ? RL_OP_QUIT : RL_OP_ROLLBACK,
            lock->policy->all_nodes, lock->round);
    rl_queue_forget(lock);
    rl_acquire_give_up(lock, out, error);
}

void rl_acquire_back_off(struct rl_lock *lock, const struct rl_event *event)
{
    lock->state = RL_BACKOFF;
    lock->acquisition->retry_at_ns = retry_at_ns(lock, event->now_ns, event->random);
}

/* Tried once, and refused: how long would it have been? */
static void request_remaining(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    lock->awaited = rl_nodes_of(lock, REDLOCK_VOTE_TAKEN);
    /* The reply of a script had the remaining time in it. */
    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if (lock->acquisition->key_ttl_ms[i] >= 0)
            lock->awaited &= (uint16_t) ~(1u << i);
    if (!lock->awaited) {
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    }
    rl_send(out, RL_OP_INQUIRE, lock->awaited, lock->round);
    lock->state = RL_INQUIRING;
    lock->round_deadline_ns = now_ns + rl_round_timeout_ns(lock);
}

void rl_acquire_fail(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    bool over = acquisition->wait_deadline_ns && event->now_ns >= acquisition->wait_deadline_ns;
    uint16_t nodes = RL_RULE(ROLLBACK_EVERYWHERE) ? lock->policy->all_nodes : lock->tally.yes;
    int error;

    acquisition->attempt_error = attempt_error(lock);
    /* The nodes granted it, and too late for this wait only. */
    if (over && rl_tally_verdict(&lock->tally) == RL_TALLY_WON)
        acquisition->attempt_error = REDLOCK_TIMEOUT;
    if (rl_count_nodes(acquisition->beyond_max_ttl) >
        lock->policy->node_count - lock->policy->quorum)
        acquisition->attempt_error = REDLOCK_INVAL;
    lock->token = 0;
    acquisition->grace_ends_ns = RL_NEVER_NS;
    error = acquisition->attempt_error;
    /*
     * Waiting makes no node allow a longer TTL, accept a password, grant a tag twice or pass a
     * safety check.
     */
    if (over || error == REDLOCK_INVAL || error == REDLOCK_AUTH || error == REDLOCK_PROTO ||
        error == REDLOCK_YOURS ||
        rl_count_nodes(acquisition->unsafe) > lock->policy->node_count - lock->policy->quorum) {
        rl_acquire_quit(lock, out, rl_acquire_final_error(lock));
        return;
    }
    if (acquisition->attempt_error != REDLOCK_BUSY && acquisition->ticket) {
        /* Too few nodes answered: a place that we cannot use would only block others. */
        rl_send(out, RL_RULE(QUEUE_NEEDS_QUORUM) ? RL_OP_QUIT : RL_OP_ROLLBACK,
                lock->policy->all_nodes, lock->round);
        if (RL_RULE(QUEUE_NEEDS_QUORUM))
            rl_queue_forget(lock);
        rl_acquire_back_off(lock, event);
        return;
    }
    /*
     * On all nodes, also those that failed or timed out: their SET may still arrive (A4).
     * From the queue, a round is repeated often: nodes that answered that they set nothing
     * are left alone.
     */
    if (acquisition->ticket || lock->terms.fair || lock->overtakes_none)
        nodes &= (uint16_t)(~rl_nodes_of(lock, REDLOCK_VOTE_TAKEN) | acquisition->overtakes);
    if (RL_RULE(QUEUE_ROLLBACK) || !acquisition->ticket)
        rl_send(out, RL_OP_ROLLBACK, nodes, lock->round);
    /* Another took the slot, but nodes reported a free one. */
    if (acquisition->free_slot && error == REDLOCK_BUSY &&
        ++acquisition->slot_tries < SLOT_TRIES_MAX) {
        rl_acquire_attempt(lock, event, out);
        return;
    }
    acquisition->slot_tries = 0;
    if (!acquisition->wait_deadline_ns)
        request_remaining(lock, event->now_ns, out);
    else if (error == REDLOCK_BUSY)
        rl_queue_join(lock, event, out);
    else
        rl_acquire_back_off(lock, event);
}

void rl_acquire_cut_short(struct rl_lock *lock, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    /* Its own votes mean little yet: an earlier busy stands. */
    if (acquisition->attempt_count == 1 || rl_votes_of(lock, REDLOCK_VOTE_TAKEN) > 0)
        acquisition->attempt_error = attempt_error(lock);
    rl_acquire_quit(lock, out, rl_acquire_final_error(lock));
}
