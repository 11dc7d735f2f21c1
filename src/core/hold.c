/* SPDX-License-Identifier: BSD-2-Clause */
/* While the lock is held: extension, the watchdog's renewals, and loss (A7, A10, A11). */
#include "core/lock_internal.h"
#include "core/rules.h"

/*
 * A hold is declared lost this much before its validity ends, so that the owner has the notice by
 * then: a timer never comes early, and the machine may be busy.
 */
#define LOSS_LEAD_NS (50 * RL_NS_PER_MS)
#define LOSS_LEADS_PER_TTL 20 /* but never more than this part of a short TTL */

/* A failed renewal is repeated this many times per TTL until the validity ends. */
#define RENEWAL_RETRIES_PER_TTL 20

static void plan_renewal(struct rl_lock *lock, int64_t at_ns)
{
    lock->renew_at_ns = lock->terms.renew ? at_ns : RL_NEVER_NS;
}

void rl_hold_begin(struct rl_lock *lock, int64_t deadline_ns, struct rl_actions *out)
{
    lock->acquire_round = lock->round;
    lock->nodes_with_key = lock->nodes_proven = lock->tally.yes;
    lock->acquisition->grace_ends_ns = RL_NEVER_NS;
    if (lock->acquisition->ticket)
        rl_queue_served(lock, out);
    lock->state = RL_HELD;
    lock->acquired_ns = lock->round_start_ns;
    lock->deadline_ns = deadline_ns;
    lock->jeopardy = false;
    plan_renewal(lock, lock->round_start_ns + rl_ttl_ns(lock) / 3);
    rl_finish(out, REDLOCK_OK);
}

int64_t rl_hold_loss_notice_ns(const struct rl_lock *lock, int64_t deadline_ns)
{
    int64_t ttl_ns = lock->ttl_ms ? rl_ttl_ns(lock) : rl_extension_ttl_ns(lock);
    int64_t lead_ns = ttl_ns / LOSS_LEADS_PER_TTL;

    return deadline_ns - (lead_ns < LOSS_LEAD_NS ? lead_ns : LOSS_LEAD_NS);
}

static bool is_over(const struct rl_lock *lock, int64_t now_ns)
{
    return !lock->adopted && now_ns >= rl_hold_loss_notice_ns(lock, lock->deadline_ns);
}

/*
 * The hold is over and was not released. What may remain of it goes from all nodes, but not
 * before the end that was promised: an owner that reads the deadline once and trusts it is safe.
 */
static void lose(struct rl_lock *lock, int64_t now_ns, enum rl_loss loss,
                 struct rl_actions *out)
{
    bool caller_waits = lock->extending && !lock->by_watchdog;

    lock->state = RL_ENDED;
    lock->extending = false;
    lock->jeopardy = false;
    lock->sweep_at_ns = lock->deadline_ns; /* instead of the next renewal */
    lock->deadline_ns = 0;
    lock->nodes_with_key = 0;
    /* What other processes hold or renew is not ours to delete: they may have it for longer. */
    if ((lock->foreign && RL_RULE(ADOPTED_IS_LEFT)) ||
        (lock->terms.keep && RL_RULE(KEPT_IS_LEFT)))
        lock->sweep_at_ns = RL_NEVER_NS;
    rl_hold_sweep(lock, now_ns, out);
    out->lost = true;
    out->loss = loss;
    if (caller_waits)
        rl_finish(out, REDLOCK_LOST);
}

void rl_hold_sweep(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    if (RL_RULE(KEPT_TO_THE_END) && now_ns < lock->sweep_at_ns)
        return;
    lock->sweep_at_ns = RL_NEVER_NS;
    /* A rollback would get the place back that the grant has taken. */
    rl_send(out, lock->came_from_queue ? RL_OP_QUIT : RL_OP_ROLLBACK, rl_all_nodes(lock),
            lock->round);
}

/* A hold that its owner was never told of protects nothing: no promised end to keep (A9). */
void rl_hold_take_back(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out)
{
    lock->state = RL_ENDED;
    lock->extending = lock->jeopardy = false;
    lock->acquired_ns = lock->deadline_ns = 0;
    lock->token = 0;
    lock->nodes_with_key = 0;
    lock->sweep_at_ns = event->now_ns;
    rl_hold_sweep(lock, event->now_ns, out);
}

static bool is_capped(const struct rl_lock *lock, int64_t now_ns, int64_t ttl_ns)
{
    const struct rl_lock_terms *terms = &lock->terms;

    if (terms->max_extensions && lock->extension_count >= terms->max_extensions)
        return true;
    return terms->max_hold_ns && !lock->adopted &&
           now_ns + ttl_ns - lock->acquired_ns > terms->max_hold_ns;
}

static void start_extension(struct rl_lock *lock, int64_t now_ns, int64_t ttl_ns,
                            bool by_watchdog, struct rl_actions *out)
{
    int64_t timeout_ns = rl_lock_node_timeout_ns(lock->policy, ttl_ns);

    /* No caller waits for the watchdog: a busy node gets until the next try to answer. */
    if (by_watchdog && timeout_ns < ttl_ns / RENEWAL_RETRIES_PER_TTL)
        timeout_ns = ttl_ns / RENEWAL_RETRIES_PER_TTL;
    rl_round_begin(lock, now_ns, timeout_ns);
    lock->extending = true;
    lock->by_watchdog = by_watchdog;
    lock->extension_ttl_ms = (uint32_t)(ttl_ns / RL_NS_PER_MS);
    rl_send(out, RL_OP_EXTEND, rl_all_nodes(lock), lock->round);
}

void rl_hold_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    if (lock->state != RL_HELD) {
        rl_finish(out, REDLOCK_LOST);
        return;
    }
    if (is_over(lock, event->now_ns)) {
        lose(lock, event->now_ns, RL_LOSS_EXPIRED, out);
        rl_finish(out, REDLOCK_LOST);
        return;
    }
    if (is_capped(lock, event->now_ns, event->ttl_ns)) {
        rl_finish(out, REDLOCK_INVAL);
        return;
    }
    start_extension(lock, event->now_ns, event->ttl_ns, false, out);
}

static void extension_failed(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    int error = rl_no_quorum_error(lock);

    /*
     * The old deadline stands (A7), so what was renewed stays: it is the same key. The watchdog tries
     * again while it lasts.
     */
    if (!RL_RULE(EXTENSION_STAYS))
        rl_send(out, RL_OP_ROLLBACK, rl_all_nodes(lock), lock->round);
    lock->extending = false;
    plan_renewal(lock, now_ns + rl_ttl_ns(lock) / RENEWAL_RETRIES_PER_TTL);
    out->jeopardy = !lock->jeopardy;
    lock->jeopardy = true;
    lock->jeopardy_error = error;
    if (!lock->by_watchdog)
        rl_finish(out, error);
}

/*
 * The hold was just proven on a quorum and is valid: nodes that miss our key get it back, for
 * what is left of its time (A8). The engine leaves out nodes in quarantine: a healed key there
 * would prove nothing, and a later renewal of it must not count.
 */
static void heal(struct rl_lock *lock, struct rl_actions *out)
{
    rl_send(out, RL_OP_HEAL, rl_nodes_of(lock, REDLOCK_VOTE_MISSING), lock->round);
}

static void extension_won(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    int64_t end_ns = rl_validity_end_ns(lock->round_start_ns, rl_extension_ttl_ns(lock),
                                        lock->policy->drift_ppm);

    if (end_ns <= now_ns && (lock->adopted || lock->deadline_ns <= now_ns)) {
        /* Confirmed too late to be worth anything. */
        extension_failed(lock, now_ns, out);
        return;
    }
    if (lock->adopted) {
        lock->adopted = false;
        lock->acquired_ns = lock->round_start_ns;
        if (lock->terms.renew)
            lock->ttl_ms = lock->extension_ttl_ms;
    }
    if (end_ns > lock->deadline_ns) {
        lock->deadline_ns = end_ns;
        lock->nodes_with_key = lock->tally.yes;
        heal(lock, out);
    } else {
        /* Shorter than what stands: it proves nothing about the time up to the deadline. */
        lock->nodes_with_key &= (uint16_t)~lock->tally.no;
    }
    if (lock->extension_ttl_ms > lock->longest_ttl_ms)
        lock->longest_ttl_ms = lock->extension_ttl_ms;
    lock->extension_count++;
    lock->extending = false;
    out->recovered = lock->jeopardy;
    lock->jeopardy = false;
    plan_renewal(lock, lock->round_start_ns + rl_ttl_ns(lock) / 3);
    if (!lock->by_watchdog)
        rl_finish(out, REDLOCK_OK);
}

static void decide_extension(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    uint8_t tolerated = (uint8_t)(lock->policy->node_count - lock->policy->quorum);

    switch (rl_tally_verdict(&lock->tally)) {
    case RL_TALLY_PENDING:
        return;
    case RL_TALLY_WON:
        extension_won(lock, now_ns, out);
        return;
    case RL_TALLY_LOST:
        /*
         * So many nodes say that our key is not there that it cannot be on a majority: another
         * may hold the lock at this moment. That is proof of loss, not a failed extension. Nodes in
         * quarantine are among them: no other may hold it yet, and what is left keeps it so.
         */
        if (rl_votes_of(lock, REDLOCK_VOTE_MISSING) > tolerated) {
            lose(lock, now_ns, RL_LOSS_MISSING, out);
        } else {
            extension_failed(lock, now_ns, out);
        }
        return;
    }
}

/* Is the deadline the one of the last extension, or a later one that stood before it? */
static bool carries_deadline(const struct rl_lock *lock)
{
    return lock->deadline_ns == rl_validity_end_ns(lock->round_start_ns,
                                                   rl_extension_ttl_ns(lock),
                                                   lock->policy->drift_ppm);
}

/*
 * G3: what an answer says about the node's memory. A renewal in quarantine counts where the key
 * is known from before: still there, so nothing was lost. A key that was set in quarantine, by an
 * acquire whose grant did not count, says nothing about what the node forgot, however often it is
 * renewed.
 */
static struct rl_answer weigh(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_answer answer = event->answer;
    uint16_t bit = (uint16_t)(1u << event->node);

    /* A renewal may have overtaken the reply that says that the key was healed in quarantine. */
    if (answer.vote == REDLOCK_VOTE_MISSING ||
        (event->op == RL_OP_HEAL && answer.vote == REDLOCK_VOTE_GUARDED))
        lock->nodes_proven &= (uint16_t)~bit;
    if (answer.vote != REDLOCK_VOTE_GRANTED)
        return answer;
    if (RL_RULE(RENEWAL_OF_COUNTED) && answer.in_quarantine && !(lock->nodes_proven & bit))
        answer.vote = REDLOCK_VOTE_GUARDED;
    else
        lock->nodes_proven |= bit;
    return answer;
}

/* A straggler of the round that won: it only adds to the margin (A3). */
static void note_straggler(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_answer answer, struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    /* A grant that an extension has overtaken says nothing about what is there now. */
    if (answer.vote == REDLOCK_VOTE_GRANTED &&
        (rl_ops[event->op].acquires ? lock->extension_count == 0 : carries_deadline(lock)))
        lock->nodes_with_key |= bit;
    else if (answer.vote == REDLOCK_VOTE_MISSING)
        lock->nodes_with_key &= (uint16_t)~bit;
    if (event->round == lock->round)
        rl_note_answer(lock, event->node, &answer, event->now_ns - lock->round_start_ns);
    /* It answered too late to be healed with the others. */
    if (event->op == RL_OP_EXTEND && event->round == lock->round && carries_deadline(lock) &&
        answer.vote == REDLOCK_VOTE_MISSING)
        rl_send(out, RL_OP_HEAL, bit, lock->round);
}

void rl_hold_answer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    bool of_the_hold = rl_ops[event->op].acquires
                           ? event->round == lock->acquire_round
                           : event->op == RL_OP_EXTEND || event->op == RL_OP_HEAL;
    struct rl_answer answer = of_the_hold ? weigh(lock, event) : event->answer;

    if (rl_ops[event->op].acquires && event->round == lock->acquire_round) {
        note_straggler(lock, event, answer, out);
        if (lock->maybe_queued)
            rl_queue_straggler(lock, event, out);
        if (lock->terms.fenced && event->round == lock->round)
            rl_token_straggler(lock, event, out);
        return;
    }
    if (event->op == RL_OP_HEAL) {
        if (event->answer.vote == REDLOCK_VOTE_GRANTED)
            lock->nodes_with_key |= (uint16_t)(1u << event->node);
        if (lock->terms.fenced)
            rl_token_straggler(lock, event, out);
        if (RL_RULE(HEAL_IS_NO_PROOF) || !lock->extending)
            return;
    } else if (event->op != RL_OP_EXTEND || event->round != lock->round) {
        return;
    }
    if (!lock->extending) {
        note_straggler(lock, event, answer, out);
        return;
    }
    /* A reply that came after the end renews nothing (A10): the hold is over by our clock. */
    if (RL_RULE(EXTEND_WHILE_VALID) && is_over(lock, event->now_ns)) {
        lose(lock, event->now_ns, RL_LOSS_EXPIRED, out);
        return;
    }
    /* Only a renewal is a vote: a key that had to be set again proves nothing (A8, G3). */
    if (!RL_RULE(HEAL_IS_NO_PROOF) && answer.vote == REDLOCK_VOTE_MISSING) {
        rl_send(out, RL_OP_HEAL, (uint16_t)(1u << event->node), lock->round);
        return;
    }
    if (!rl_tally_vote(&lock->tally, event->node, answer.vote == REDLOCK_VOTE_GRANTED))
        return;
    rl_note_answer(lock, event->node, &answer, event->now_ns - lock->round_start_ns);
    decide_extension(lock, event->now_ns, out);
}

/*
 * A renewal that is not confirmed in time is in jeopardy, but it stays open: nodes that were slow
 * still answer it, in order, and asking them again would only add to what keeps them busy. It
 * ends with its answers, with the connections of nodes that never answer, or with the hold.
 */
static void leave_open(struct rl_lock *lock, struct rl_actions *out)
{
    uint16_t silent = rl_tally_pending(&lock->tally);

    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if (silent & (1u << i))
            lock->node[i].vote = REDLOCK_VOTE_TIMEDOUT;
    lock->round_deadline_ns = RL_NEVER_NS;
    out->jeopardy = !lock->jeopardy;
    lock->jeopardy = true;
    lock->jeopardy_error = rl_no_quorum_error(lock);
}

void rl_hold_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    int64_t now_ns = event->now_ns;

    if (is_over(lock, now_ns)) {
        lose(lock, now_ns, RL_LOSS_EXPIRED, out);
        return;
    }
    if (lock->extending) {
        if (now_ns >= lock->round_deadline_ns && lock->by_watchdog) {
            leave_open(lock, out);
        } else if (now_ns >= lock->round_deadline_ns) {
            rl_time_out_silent_nodes(lock, event);
            decide_extension(lock, now_ns, out);
        }
        return;
    }
    if (now_ns < lock->renew_at_ns)
        return;
    if (is_capped(lock, now_ns, rl_ttl_ns(lock)))
        lock->renew_at_ns = RL_NEVER_NS; /* the hold runs out, and says so */
    else
        start_extension(lock, now_ns, rl_ttl_ns(lock), true, out);
}

/* What a node holds for us may be gone without a trace (G6): it does not carry the hold. */
void rl_hold_node_out(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    if (lock->extending) {
        rl_tally_revoke(&lock->tally, event->node);
        rl_note_answer(lock, event->node,
                       &(struct rl_answer){.vote = REDLOCK_VOTE_GUARDED, .key_ttl_ms = -1}, -1);
    }
    lock->nodes_with_key &= (uint16_t) ~(1u << event->node);
    if (!lock->adopted && rl_count_nodes(lock->nodes_with_key) < lock->policy->quorum)
        lose(lock, event->now_ns, RL_LOSS_DOUBT, out);
    else if (lock->extending)
        decide_extension(lock, event->now_ns, out);
}

void rl_hold_our_clock(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out)
{
    lose(lock, event->now_ns, RL_LOSS_DOUBT, out);
}
