/* SPDX-License-Identifier: BSD-2-Clause */
/* From the first attempt to the hold (A2, A3). */
#include "core/kind.h"
#include "core/lock_internal.h"
#include "core/rules.h"

void rl_acquire_attempt(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    /* t0 is noted before anything is sent (A2): the validity counts from here. */
    rl_round_begin(lock, event->now_ns, rl_round_timeout_ns(lock));
    if (!RL_RULE(READERS_MAJORITY) && rl_kinds[lock->terms.kind].waiter == RL_WAITER_READS)
        lock->tally.quorum = 1;
    lock->state = RL_ACQUIRING;
    acquisition->attempt_count++;
    lock->longest_ttl_ms = lock->ttl_ms;
    lock->token = 0;
    lock->came_from_queue = false;
    lock->maybe_queued = 0;
    acquisition->owners[0] = acquisition->owners[1] = (struct rl_owners_token){0};
    acquisition->nested = 0;
    acquisition->beyond_max_ttl = 0;
    acquisition->unsafe = 0;
    acquisition->counts_once = 0;
    acquisition->overtakes = 0;
    acquisition->woken = acquisition->again_count = 0;
    acquisition->ahead_ms = 0;
    acquisition->grace_ends_ns = RL_NEVER_NS;
    if (rl_kinds[lock->terms.kind].has_slots) {
        if (acquisition->free_slot)
            lock->slot = acquisition->free_slot;
        else if (!lock->slot)
            lock->slot = (uint16_t)(1 + event->random % lock->terms.slots);
        acquisition->free_slot = 0;
    }
    rl_send(out, RL_OP_ACQUIRE, lock->policy->all_nodes, lock->round);
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
        rl_queue_park(lock);
    else if (event->yields)
        rl_queue_begin(lock, event->now_ns, out);
    else
        rl_acquire_attempt(lock, event, out);
}

static void decide_attempt(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t end_ns =
        rl_validity_end_ns(lock->round_start_ns, rl_ttl_ns(lock), lock->policy->drift_ppm);
    /* If it would be reported lost at once, do not report it as held. */
    bool valid = event->now_ns < rl_hold_loss_notice_ns(lock, end_ns);
    bool in_time =
        !acquisition->wait_deadline_ns || event->now_ns <= acquisition->wait_deadline_ns;

    switch (rl_tally_verdict(&lock->tally)) {
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
        /*
         * A node that has not answered may report a set by which those that granted do not
         * decide (G8).
         */
        if (valid && event->awaits_sets && event->now_ns < lock->round_deadline_ns)
            return;
        if (lock->terms.fenced)
            rl_token_agree(lock, event, end_ns, out);
        else
            rl_hold_begin(lock, end_ns, out);
        return;
    case RL_TALLY_LOST:
        /* Is it our own tag that is in the way? Nodes that have not answered may show it. */
        if (valid && lock->terms.tagged && rl_tally_pending(&lock->tally) &&
            event->now_ns < lock->round_deadline_ns)
            return;
        if (!valid || !rl_queue_has_grace(lock, event->now_ns))
            rl_acquire_fail(lock, event, out);
        return;
    }
}

void rl_acquire_answer(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out)
{
    const struct rl_answer *answer = &event->answer;
    uint16_t bit = (uint16_t)(1u << event->node);

    if (RL_RULE(ROUNDS) && event->round != lock->round)
        return;
    if (event->op == RL_OP_ALIGN) {
        rl_token_aligned(lock, event, out);
        return;
    }
    if (event->op == RL_OP_INQUIRE && lock->awaited & bit) {
        lock->awaited &= (uint16_t)~bit;
        if (answer->vote == REDLOCK_VOTE_TAKEN) {
            lock->acquisition->key_ttl_ms[event->node] = answer->key_ttl_ms;
            lock->acquisition->same_tag[event->node] = answer->same_tag;
        }
        if (lock->state == RL_INQUIRING && !lock->awaited)
            rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    }
    if (!rl_ops[event->op].acquires ||
        !rl_tally_vote(&lock->tally, event->node, answer->vote == REDLOCK_VOTE_GRANTED))
        return;
    rl_note_answer(lock, event->node, answer, event->now_ns - lock->round_start_ns);
    /* ALIGNING: a late grant joins the hold. Decided otherwise: only for the report. */
    if (lock->state == RL_ALIGNING)
        rl_token_straggler(lock, event, out);
    if (lock->state != RL_ACQUIRING)
        return;
    if (answer->beyond_max_ttl)
        lock->acquisition->beyond_max_ttl |= bit;
    if (answer->is_unsafe)
        lock->acquisition->unsafe |= bit;
    if (answer->counts_once)
        lock->acquisition->counts_once |= bit;
    if (answer->overtakes)
        lock->acquisition->overtakes |= bit;
    if (answer->vote == REDLOCK_VOTE_GRANTED && answer->owners_token)
        rl_token_note_owners(lock, event->node, answer->owners_token);
    if (answer->vote == REDLOCK_VOTE_TAKEN)
        rl_queue_refused(lock, event, out);
    decide_attempt(lock, event, out);
}

void rl_acquire_timer(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t now_ns = event->now_ns;

    switch (lock->state) {
    case RL_ACQUIRING:
        if (acquisition->wait_deadline_ns && now_ns >= acquisition->wait_deadline_ns) {
            rl_acquire_cut_short(lock, out);
            return;
        }
        if (now_ns >= lock->round_deadline_ns)
            rl_time_out_silent_nodes(lock, event);
        if (now_ns >= acquisition->grace_ends_ns)
            acquisition->grace_ends_ns = RL_NEVER_NS;
        decide_attempt(lock, event, out);
        return;
    case RL_ALIGNING:
        /* Whichever deadline it was, the node's, the validity's or the wait's: too late. */
        if (now_ns >= rl_lock_timer_ns(lock))
            rl_acquire_fail(lock, event, out);
        return;
    case RL_INQUIRING:
        if (now_ns >= lock->round_deadline_ns)
            rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    case RL_BACKOFF:
        /* The deadline is looked at first, so that no attempt starts after it (A9). */
        if (now_ns >= acquisition->wait_deadline_ns)
            rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        else if (now_ns >= acquisition->retry_at_ns)
            rl_acquire_attempt(lock, event, out);
        return;
    default:
        return;
    }
}

/* A node that cannot be trusted any more (G6, G8) takes its grant out of the attempt. */
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
    lock->awaited &= (uint16_t)~bit;
    if (lock->state == RL_ACQUIRING)
        decide_attempt(lock, event, out);
    else if (rl_count_nodes(acquisition->aligned | lock->awaited) < lock->policy->quorum)
        rl_acquire_fail(lock, event, out);
}

/* What an earlier term has granted does not count; what is under way comes to its
 * own end (E11). */
void rl_acquire_new_term(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out)
{
    if (lock->state == RL_ALIGNING || (lock->tally.yes & (1u << event->node)))
        rl_acquire_node_out(lock, event, out);
}

void rl_acquire_sets_known(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out)
{
    if (lock->state == RL_ACQUIRING)
        decide_attempt(lock, event, out);
}

void rl_acquire_cancel(struct rl_lock *lock, struct rl_actions *out)
{
    switch (lock->state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
        rl_acquire_quit(lock, out, REDLOCK_CANCELED);
        return;
    case RL_ENDED:
        /* Lost, and given up before the promised end: its owner does not rely on
         * it any more. */
        if (lock->sweep_at_ns != RL_NEVER_NS)
            rl_hold_sweep(lock, lock->sweep_at_ns, out);
        return;
    case RL_INQUIRING:
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
