/* SPDX-License-Identifier: BSD-2-Clause */
/* From the first attempt to the hold, or to the end of the wait (A2-A4, A9). */
#include "core/kind.h"
#include "core/lock_internal.h"
#include "core/rules.h"

/*
 * No attempt starts in the last moments of a wait: it could hardly win in time, and its answers
 * would replace what is known about the holder.
 */
#define LAST_MOMENTS_NS (5 * RL_NS_PER_MS)

/* Nodes that refuse at once must not turn a wait into a busy loop. */
#define RETRY_FLOOR_NS (500 * RL_NS_PER_US)

/* A semaphore is tried this often in a row, as long as nodes say that a slot is free. */
#define SLOT_TRIES_MAX 8

static void choose_slot(struct rl_lock *lock, uint32_t random)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    if (acquisition->free_slot)
        lock->slot = acquisition->free_slot;
    else if (!lock->slot)
        lock->slot = (uint16_t)(1 + random % lock->terms.slots);
    acquisition->free_slot = 0;
}

void rl_acquire_attempt(struct rl_lock *lock, int64_t now_ns, uint32_t random,
                        struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    /* t0 is noted before anything is sent (A2): the validity counts from here. */
    rl_round_begin(lock, now_ns, rl_lock_node_timeout_ns(lock->policy, rl_ttl_ns(lock)));
    lock->state = RL_ACQUIRING;
    acquisition->attempt_count++;
    lock->longest_ttl_ms = lock->ttl_ms;
    lock->token = 0;
    lock->came_from_queue = false;
    lock->unanswered = 0;
    acquisition->owners[0] = acquisition->owners[1] = (struct rl_owners_token){0};
    acquisition->nested = 0;
    acquisition->beyond_max_ttl = 0;
    acquisition->counts_once = 0;
    acquisition->overtakes = 0;
    acquisition->woken = acquisition->again_count = 0;
    acquisition->ahead_ms = 0;
    acquisition->grace_ends_ns = RL_NEVER_NS;
    if (rl_kind(lock->terms.kind)->has_slots)
        choose_slot(lock, random);
    rl_send(out, RL_OP_ACQUIRE, rl_all_nodes(lock), lock->round);
}

void rl_acquire_begin(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    lock->ttl_ms = (uint32_t)(event->ttl_ns / RL_NS_PER_MS);
    acquisition->wait_deadline_ns = event->wait_deadline_ns;
    acquisition->attempt_error = REDLOCK_NOQUORUM; /* no node has answered anything yet */
    if (acquisition->wait_deadline_ns && event->now_ns >= acquisition->wait_deadline_ns)
        /*
         * The call has waited too long for its driver: no attempt starts after the deadline
         * (A9).
         */
        rl_acquire_give_up(lock, out, REDLOCK_TIMEOUT);
    else if (event->parked)
        rl_queue_park(lock, event);
    else if (event->yields)
        rl_queue_begin(lock, event->now_ns, out);
    else
        rl_acquire_attempt(lock, event->now_ns, event->random, out);
}

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

static enum rl_verdict verdict(const struct rl_lock *lock)
{
    if (!RL_RULE(READERS_MAJORITY) && rl_kind(lock->terms.kind)->waiter == 'r' &&
        lock->tally.yes_count > 0)
        return RL_TALLY_WON;
    return rl_tally_verdict(&lock->tally);
}

/* Is one value of our tag, that another request made, on a majority of the nodes? */
static bool is_yours(const struct rl_lock *lock)
{
    const uint32_t *yours = lock->acquisition->yours;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        uint8_t count = 0;

        for (uint8_t j = 0; yours[i] && j < lock->policy->node_count; j++)
            count += yours[j] == yours[i];
        if (count >= lock->policy->quorum)
            return true;
    }
    return false;
}

/* Enough nodes could have voted for us, but another's keys are there: busy, not broken. */
static int attempt_error(const struct rl_lock *lock)
{
    uint8_t taken_count = rl_votes_of(lock, REDLOCK_VOTE_HELD);
    uint8_t failed_count = (uint8_t)(lock->tally.no_count - taken_count);

    if (is_yours(lock))
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

    if (is_yours(lock))
        return REDLOCK_YOURS;
    /* After a wait, "busy" means that the wait was not long enough. */
    if (acquisition->attempt_error == REDLOCK_BUSY && acquisition->wait_deadline_ns)
        return REDLOCK_TIMEOUT;
    return acquisition->attempt_error;
}

void rl_acquire_give_up(struct rl_lock *lock, struct rl_actions *out, int error)
{
    /* Waiters behind us must not wait for a waiter that has gone. */
    if (lock->acquisition->ticket)
        rl_send(out, RL_OP_LEAVE, rl_all_nodes(lock), lock->round);
    rl_queue_forget(lock);
    lock->state = RL_ENDED;
    rl_finish(out, error);
}

static uint16_t nodes_that_refused(const struct rl_lock *lock)
{
    uint16_t nodes = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if (lock->node[i].vote == REDLOCK_VOTE_HELD)
            nodes |= (uint16_t)(1u << i);
    return (uint16_t)(nodes & ~lock->acquisition->overtakes);
}

/*
 * On all nodes, also those that failed or timed out: their SET may still arrive (A4). From the
 * queue, a round is repeated often: nodes that answered that they set nothing are left alone.
 */
static void roll_back(struct rl_lock *lock, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t nodes = RL_RULE(ROLLBACK_EVERYWHERE) ? rl_all_nodes(lock) : lock->tally.yes;

    if (acquisition->ticket || lock->terms.fair || lock->overtakes_none)
        nodes &= (uint16_t)~nodes_that_refused(lock);
    if (!RL_RULE(QUEUE_ROLLBACK) && acquisition->ticket)
        return;
    rl_send(out, RL_OP_ROLLBACK, nodes, lock->round);
}

/* The same for an attempt that is the last one. */
static void quit(struct rl_lock *lock, struct rl_actions *out, int error)
{
    rl_send(out, lock->acquisition->ticket ? RL_OP_QUIT : RL_OP_ROLLBACK, rl_all_nodes(lock),
            lock->round);
    rl_queue_forget(lock);
    rl_acquire_give_up(lock, out, error);
}

static uint16_t nodes_held_by_another(const struct rl_lock *lock)
{
    uint16_t nodes = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        /* A script tells the remaining time by itself. */
        if (lock->node[i].vote == REDLOCK_VOTE_HELD && lock->acquisition->key_ttl_ms[i] < 0)
            nodes |= (uint16_t)(1u << i);
    return nodes;
}

void rl_acquire_back_off(struct rl_lock *lock, const struct rl_event *event)
{
    lock->state = RL_BACKOFF;
    lock->acquisition->retry_at_ns = retry_at_ns(lock, event->now_ns, event->random);
}

/* Tried once, and refused: how long would it have been? */
static void ask_how_long(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    lock->asked = nodes_held_by_another(lock);
    if (!lock->asked) {
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    }
    rl_send(out, RL_OP_INQUIRE, lock->asked, lock->round);
    lock->state = RL_ASKING;
    lock->round_deadline_ns = now_ns + rl_lock_node_timeout_ns(lock->policy, rl_ttl_ns(lock));
}

/* Waiting does not make the nodes allow a longer TTL, accept a password or grant a tag twice. */
static bool is_final(int error)
{
    return error == REDLOCK_INVAL || error == REDLOCK_AUTH || error == REDLOCK_PROTO ||
           error == REDLOCK_YOURS;
}

/* Another took the slot, but nodes said that there is a free one: false when that is not so. */
static bool count_slot_try(struct rl_lock *lock)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    if (!acquisition->free_slot || acquisition->attempt_error != REDLOCK_BUSY)
        return false;
    return ++acquisition->slot_tries < SLOT_TRIES_MAX;
}

void rl_acquire_fail(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    bool over = acquisition->wait_deadline_ns && event->now_ns >= acquisition->wait_deadline_ns;

    acquisition->attempt_error = attempt_error(lock);
    /* The nodes granted it, and too late for this wait only. */
    if (over && verdict(lock) == RL_TALLY_WON)
        acquisition->attempt_error = REDLOCK_TIMEOUT;
    if (rl_count_nodes(acquisition->beyond_max_ttl) >
        lock->policy->node_count - lock->policy->quorum)
        acquisition->attempt_error = REDLOCK_INVAL;
    lock->token = 0;
    acquisition->grace_ends_ns = RL_NEVER_NS;
    if (is_final(acquisition->attempt_error) || over) {
        quit(lock, out, rl_acquire_final_error(lock));
        return;
    }
    if (acquisition->attempt_error != REDLOCK_BUSY && acquisition->ticket) {
        /* Too few nodes answered: a place that we cannot use would only block others. */
        rl_send(out, RL_RULE(QUEUE_NEEDS_QUORUM) ? RL_OP_QUIT : RL_OP_ROLLBACK,
                rl_all_nodes(lock), lock->round);
        if (RL_RULE(QUEUE_NEEDS_QUORUM))
            rl_queue_forget(lock);
        rl_acquire_back_off(lock, event);
        return;
    }
    roll_back(lock, out);
    if (count_slot_try(lock)) {
        rl_acquire_attempt(lock, event->now_ns, event->random, out);
        return;
    }
    acquisition->slot_tries = 0;
    if (!acquisition->wait_deadline_ns)
        ask_how_long(lock, event->now_ns, out);
    else if (acquisition->attempt_error == REDLOCK_BUSY)
        rl_queue_join(lock, event, out);
    else
        rl_acquire_back_off(lock, event);
}

void rl_acquire_hold(struct rl_lock *lock, int64_t end_ns, struct rl_actions *out)
{
    lock->acquire_round = lock->round;
    lock->nodes_with_key = lock->nodes_proven = lock->tally.yes;
    lock->acquisition->grace_ends_ns = RL_NEVER_NS;
    if (lock->acquisition->ticket)
        rl_queue_served(lock, out);
    rl_hold_begin(lock, end_ns, lock->round_start_ns);
    rl_finish(out, REDLOCK_OK);
}

static void decide_attempt(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t end_ns =
        rl_validity_end_ns(lock->round_start_ns, rl_ttl_ns(lock), lock->policy->drift_ppm);
    /* A hold whose loss notice is already due is none. */
    bool valid = event->now_ns < rl_hold_loss_notice_ns(lock, end_ns);
    bool in_time =
        !acquisition->wait_deadline_ns || event->now_ns <= acquisition->wait_deadline_ns;

    switch (verdict(lock)) {
    case RL_TALLY_PENDING:
        /* Validity gone while nodes are still silent: no answer can win any more (A4). */
        if (!valid)
            rl_acquire_fail(lock, event, out);
        return;
    case RL_TALLY_WON:
        /* Decided at the moment of the deciding reply: valid now (A3), and never late (A9). */
        if ((RL_RULE(VALID_WHEN_DECIDED) && !valid) || (RL_RULE(GRANT_IN_TIME) && !in_time)) {
            rl_acquire_fail(lock, event, out);
            return;
        }
        /* A node not yet heard may say that those that granted do not decide (G8). */
        if (event->awaits_sets && event->now_ns < lock->round_deadline_ns)
            return;
        if (lock->terms.fenced)
            rl_token_settle(lock, event, end_ns, out);
        else
            rl_acquire_hold(lock, end_ns, out);
        return;
    case RL_TALLY_LOST:
        /* Is it our own tag that is in the way? Nodes that have not answered may say so. */
        if (valid && lock->terms.tagged && rl_tally_pending(&lock->tally) &&
            event->now_ns < lock->round_deadline_ns)
            return;
        if (!valid || !rl_queue_has_grace(lock, event->now_ns))
            rl_acquire_fail(lock, event, out);
        return;
    }
}

static void note_remaining_time(struct rl_lock *lock, const struct rl_event *event,
                                struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    if (!(lock->asked & bit))
        return;
    lock->asked &= (uint16_t)~bit;
    if (event->answer.vote == REDLOCK_VOTE_HELD) {
        lock->acquisition->key_ttl_ms[event->node] = event->answer.key_ttl_ms;
        lock->acquisition->yours[event->node] = event->answer.yours;
    }
    if (lock->state == RL_ASKING && !lock->asked)
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
}

static void note_details(struct rl_lock *lock, const struct rl_event *event)
{
    const struct rl_answer *answer = &event->answer;

    if (answer->beyond_max_ttl)
        lock->acquisition->beyond_max_ttl |= (uint16_t)(1u << event->node);
    if (answer->counts_once)
        lock->acquisition->counts_once |= (uint16_t)(1u << event->node);
    if (answer->overtakes)
        lock->acquisition->overtakes |= (uint16_t)(1u << event->node);
    if (answer->vote == REDLOCK_VOTE_GRANTED && answer->owners_token)
        rl_token_note_owners(lock, event->node, answer->owners_token);
}

void rl_acquire_answer(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out)
{
    if (RL_RULE(ROUNDS) && event->round != lock->round)
        return;
    if (event->op == RL_OP_ALIGN) {
        rl_token_aligned(lock, event, out);
        return;
    }
    if (event->op == RL_OP_INQUIRE) {
        note_remaining_time(lock, event, out);
        return;
    }
    if (!rl_op_is_acquire(event->op) ||
        !rl_tally_vote(&lock->tally, event->node, event->answer.vote == REDLOCK_VOTE_GRANTED))
        return;
    rl_note_answer(lock, event->node, &event->answer, event->now_ns - lock->round_start_ns);
    /* ALIGNING: a late grant joins the hold. Decided otherwise: only for the report. */
    if (lock->state == RL_ALIGNING)
        rl_token_straggler(lock, event, out);
    if (lock->state != RL_ACQUIRING)
        return;
    note_details(lock, event);
    if (event->answer.vote == REDLOCK_VOTE_HELD)
        rl_queue_refused(lock, event, out);
    decide_attempt(lock, event, out);
}

static void attempt_timer(struct rl_lock *lock, const struct rl_event *event,
                          struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    if (acquisition->wait_deadline_ns && event->now_ns >= acquisition->wait_deadline_ns) {
        /* In the middle of an attempt. Its own votes say little yet: an earlier busy stands. */
        if (acquisition->attempt_count == 1 || rl_votes_of(lock, REDLOCK_VOTE_HELD) > 0)
            acquisition->attempt_error = attempt_error(lock);
        quit(lock, out, rl_acquire_final_error(lock));
        return;
    }
    if (event->now_ns >= lock->round_deadline_ns)
        rl_time_out_silent_nodes(lock, event);
    if (event->now_ns >= acquisition->grace_ends_ns)
        acquisition->grace_ends_ns = RL_NEVER_NS;
    decide_attempt(lock, event, out);
}

void rl_acquire_timer(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t now_ns = event->now_ns;

    switch (lock->state) {
    case RL_ACQUIRING:
        attempt_timer(lock, event, out);
        return;
    case RL_ALIGNING:
        /* Whichever deadline it was, the node's, the validity's or the wait's: too late. */
        if (now_ns >= rl_lock_timer_ns(lock))
            rl_acquire_fail(lock, event, out);
        return;
    case RL_ASKING:
        if (now_ns >= lock->round_deadline_ns)
            rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    case RL_BACKOFF:
        /* The deadline is looked at first, so that no attempt starts after it (A9). */
        if (now_ns >= acquisition->wait_deadline_ns)
            rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        else if (now_ns >= acquisition->retry_at_ns)
            rl_acquire_attempt(lock, now_ns, event->random, out);
        return;
    default:
        return;
    }
}

/* A node that cannot be trusted any more (G6) takes its grant out of the attempt. */
void rl_acquire_node_out(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t bit = (uint16_t)(1u << event->node);

    if (lock->state != RL_ACQUIRING && lock->state != RL_ALIGNING)
        return;
    rl_tally_revoke(&lock->tally, event->node);
    rl_note_answer(lock, event->node,
                   &(struct rl_answer){.vote = REDLOCK_VOTE_GUARDED, .key_ttl_ms = -1}, -1);
    acquisition->aligned &= (uint16_t)~bit;
    lock->asked &= (uint16_t)~bit;
    if (lock->state == RL_ACQUIRING)
        decide_attempt(lock, event, out);
    else if (rl_count_nodes(acquisition->aligned | lock->asked) < lock->policy->quorum)
        rl_acquire_fail(lock, event, out);
}

void rl_acquire_sets_heard(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out)
{
    if (lock->state == RL_ACQUIRING)
        decide_attempt(lock, event, out);
}

/* Our own clock was wrong, and with it the start that the validity counts from. */
void rl_acquire_our_clock(struct rl_lock *lock, const struct rl_event *event,
                          struct rl_actions *out)
{
    if (lock->state == RL_ACQUIRING || lock->state == RL_ALIGNING)
        rl_acquire_fail(lock, event, out);
}

void rl_acquire_cancel(struct rl_lock *lock, struct rl_actions *out)
{
    switch (lock->state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
        quit(lock, out, REDLOCK_CANCELED);
        return;
    case RL_ENDED:
        /* Lost, and given up before the promised end: its owner does not rely on it any more. */
        if (lock->sweep_at_ns != RL_NEVER_NS)
            rl_hold_sweep(lock, lock->sweep_at_ns, out);
        return;
    case RL_ASKING:
    case RL_BACKOFF:
    case RL_PARKED:
    case RL_TICKETING:
    case RL_QUEUED:
        /* The attempt was rolled back when it failed. */
        rl_acquire_give_up(lock, out, REDLOCK_CANCELED);
        return;
    default:
        return;
    }
}
