/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock that is held, until it is lost (A10) or given back (A6). renew.c makes it last. */
#include "core/electors.h"
#include "core/kind.h"
#include "core/lock_internal.h"
#include "core/rules.h"

/*
 * A hold is declared lost this much before its validity ends, so that the owner has the notice
 * by then: a timer never comes early, and the machine may be busy.
 */
#define LOSS_LEAD_NS (50 * RL_NS_PER_MS)
#define LOSS_LEADS_PER_TTL 20 /* but never more than this part of a short TTL */

void rl_hold_begin(struct rl_lock *lock, int64_t deadline_ns, struct rl_actions *out)
{
    lock->acquire_round = lock->round;
    lock->nodes_with_key = lock->nodes_proven = lock->nodes_proving = lock->tally.yes;
    lock->nodes_succeeding = 0;
    lock->acquisition->grace_ends_ns = RL_NEVER_NS;
    if (lock->acquisition->ticket)
        rl_queue_served(lock, out);
    lock->state = RL_HELD;
    lock->acquired_ns = lock->round_start_ns;
    lock->deadline_ns = deadline_ns;
    lock->jeopardy = false;
    lock->renew_at_ns = lock->terms.renew
                            ? lock->round_start_ns + rl_ttl_ns(lock) / RL_RENEWALS_PER_TTL
                            : RL_NEVER_NS;
    rl_finish(out, REDLOCK_OK);
}

bool rl_hold_is_shared(const struct rl_lock *lock)
{
    return lock->foreign || lock->terms.keep || lock->terms.tagged;
}

int64_t rl_hold_loss_notice_ns(const struct rl_lock *lock, int64_t deadline_ns)
{
    int64_t ttl_ns = lock->ttl_ms ? rl_ttl_ns(lock) : rl_extension_ttl_ns(lock);
    int64_t lead_ns = ttl_ns / LOSS_LEADS_PER_TTL;

    return deadline_ns - (lead_ns < LOSS_LEAD_NS ? lead_ns : LOSS_LEAD_NS);
}

bool rl_hold_is_over(const struct rl_lock *lock, int64_t now_ns)
{
    return !lock->adopted && now_ns >= rl_hold_loss_notice_ns(lock, lock->deadline_ns);
}

/*
 * The hold is over and was not released. What may remain of it goes from all nodes, but not
 * before the end that was promised: an owner that reads the deadline once and trusts it is
 * safe.
 */
void rl_hold_lose(struct rl_lock *lock, int64_t now_ns, enum rl_loss loss,
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
    rl_send(out, lock->came_from_queue ? RL_OP_QUIT : RL_OP_ROLLBACK, lock->policy->all_nodes,
            lock->round);
}

/* A hold that its owner never learnt of protects nothing: no promised end to keep (A9). */
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

/* Is the deadline the one of the last extension, or a later one that stood before it? */
static bool carries_deadline(const struct rl_lock *lock)
{
    return lock->deadline_ns == rl_validity_end_ns(lock->round_start_ns,
                                                   rl_extension_ttl_ns(lock),
                                                   lock->policy->drift_ppm);
}

/*
 * G3: what an answer proves about the node's memory. A renewal in quarantine counts where the
 * key is known from before: still there, so nothing was lost. A key that was set in quarantine,
 * by an acquire whose grant did not count, proves nothing about what the node forgot, however
 * often it is renewed.
 */
static struct rl_answer weigh(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_answer answer = event->answer;
    uint16_t bit = (uint16_t)(1u << event->node);
    /*
     * Never found in this term: the failover may have lost it, and no other client can hold it
     * there yet. That is no loss (E9).
     */
    bool is_no_loss =
        answer.of_new_term && !(lock->nodes_proven & ~lock->nodes_succeeding & bit);

    /* A renewal may have overtaken the reply that the key was
     * repaired in quarantine. */
    if (answer.vote == REDLOCK_VOTE_MISSING ||
        (event->op == RL_OP_REPAIR && answer.vote == REDLOCK_VOTE_GUARDED))
        lock->nodes_proven &= (uint16_t)~bit;
    /* What was deleted stays deleted: the proof is void, and so is a right won by it (E13). */
    if (answer.vote == REDLOCK_VOTE_MISSING && RL_RULE(MISSING_VOIDS))
        lock->nodes_proving &= (uint16_t)~bit;
    if (answer.vote == REDLOCK_VOTE_MISSING && RL_RULE(MISSING_VOIDS) && RL_RULE(VOID_WHOLE))
        lock->nodes_succeeding &= (uint16_t)~bit;
    if (answer.vote == REDLOCK_VOTE_MISSING && is_no_loss)
        answer.vote = REDLOCK_VOTE_GUARDED;
    if (answer.vote != REDLOCK_VOTE_GRANTED)
        return answer;
    if (RL_RULE(RENEWAL_OF_COUNTED) && answer.in_quarantine && !(lock->nodes_proven & bit))
        answer.vote = REDLOCK_VOTE_GUARDED;
    else {
        lock->nodes_proven |= bit;
        lock->nodes_succeeding &= (uint16_t)~bit;
    }
    return answer;
}

/*
 * A straggler. Of a round that won it only adds to the margin (A3); of one that was judged too
 * early it may complete the proof that the hold is lost (A7).
 */
static void note_straggler(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_answer answer, struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    /* A grant that an extension has overtaken proves nothing about what is there now. */
    if (answer.vote == REDLOCK_VOTE_GRANTED &&
        (rl_ops[event->op].acquires ? lock->extension_count == 0 : carries_deadline(lock))) {
        lock->nodes_with_key |= bit;
        lock->nodes_proving |= bit;
    } else if (answer.vote == REDLOCK_VOTE_MISSING)
        lock->nodes_with_key &= (uint16_t)~bit;
    if (event->round == lock->round)
        rl_note_answer(lock, event->node, &answer, event->now_ns - lock->round_start_ns);
    if (event->op != RL_OP_EXTEND || answer.vote != REDLOCK_VOTE_MISSING)
        return;
    if (rl_renew_proves_loss(lock) && RL_RULE(LOSS_PROVEN))
        rl_renew_lost(lock, event->now_ns, out);
    else if (carries_deadline(lock)) /* It answered too late to be repaired with the others. */
        rl_renew_repair(lock, bit, out);
}

void rl_hold_answer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    bool of_the_hold = rl_ops[event->op].acquires
                           ? event->round == lock->acquire_round
                           : event->op == RL_OP_EXTEND || event->op == RL_OP_REPAIR;
    struct rl_answer answer = of_the_hold ? weigh(lock, event) : event->answer;

    if (rl_ops[event->op].acquires && event->round == lock->acquire_round) {
        note_straggler(lock, event, answer, out);
        if (lock->maybe_queued)
            rl_queue_straggler(lock, event, out);
        if (lock->terms.fenced && event->round == lock->round)
            rl_token_straggler(lock, event, out);
        return;
    }
    if (event->op == RL_OP_REPAIR) {
        if (event->answer.vote == REDLOCK_VOTE_GRANTED)
            lock->nodes_with_key |= (uint16_t)(1u << event->node);
        if (lock->terms.fenced)
            rl_token_straggler(lock, event, out);
        if (RL_RULE(REPAIR_IS_NO_PROOF) || !lock->extending)
            return;
    } else if (event->op != RL_OP_EXTEND || event->round != lock->round) {
        return;
    }
    if (!lock->extending) {
        note_straggler(lock, event, answer, out);
        return;
    }
    /* A reply that came after the end renews nothing (A10): the hold is over by our clock. */
    if (RL_RULE(EXTEND_WHILE_VALID) && rl_hold_is_over(lock, event->now_ns)) {
        rl_hold_lose(lock, event->now_ns, RL_LOSS_EXPIRED, out);
        return;
    }
    /* Only a renewal is a vote: a key that had to be set again proves nothing (A8, G3). */
    if (!RL_RULE(REPAIR_IS_NO_PROOF) && answer.vote == REDLOCK_VOTE_MISSING) {
        rl_send(out, RL_OP_REPAIR, (uint16_t)(1u << event->node), lock->round);
        return;
    }
    if (!rl_tally_vote(&lock->tally, event->node, answer.vote == REDLOCK_VOTE_GRANTED))
        return;
    rl_note_answer(lock, event->node, &answer, event->now_ns - lock->round_start_ns);
    rl_renew_decide(lock, event->now_ns, out);
}

void rl_hold_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    if (rl_hold_is_over(lock, event->now_ns))
        rl_hold_lose(lock, event->now_ns, RL_LOSS_EXPIRED, out);
    else
        rl_renew_timer(lock, event, out);
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
        rl_hold_lose(lock, event->now_ns, RL_LOSS_UNTRUSTED, out);
    else if (lock->extending)
        rl_renew_decide(lock, event->now_ns, out);
}

/* ---- elected votes: another server is theirs ---- */

/*
 * E8: a renewal counts where the last proof was counted in the same term and incarnation. E9: a
 * hold may carry over into a later term only if its proof here outlasts the last vote the old
 * term could still give.
 */
void rl_hold_new_term(struct rl_lock *lock, const struct rl_event *event)
{
    uint16_t bit = (uint16_t)(1u << event->node);
    int64_t drift_ns = RL_VOUCH_NS / 1000000 * lock->policy->drift_ppm + 2 * RL_NS_PER_MS;
    bool outlives = !RL_RULE(SUCCESSION_IN_TIME) ||
                    lock->deadline_ns - event->now_ns > RL_VOUCH_NS + drift_ns;
    bool has_proof = (lock->nodes_proving & bit) || !RL_RULE(SUCCESSION_PROOF);

    if (RL_RULE(RENEWAL_IN_TERM))
        lock->nodes_proven &= (uint16_t)~bit;
    lock->nodes_succeeding &= (uint16_t)~bit;
    if (event->rose && outlives && has_proof)
        lock->nodes_succeeding |= bit;
}

void rl_hold_succeed(struct rl_lock *lock, const struct rl_event *event)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    /* In time: a hold whose proof has ended is over, and renews no more (rl_hold_answer()). */
    if (!(lock->nodes_succeeding & bit))
        return;
    lock->nodes_proven |= bit;
    /* The validity has been running since the old server went: it is renewed at once. */
    if (lock->terms.renew && !lock->extending)
        lock->renew_at_ns = event->now_ns;
}
