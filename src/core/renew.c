/* SPDX-License-Identifier: BSD-2-Clause */
/* Making a hold last: extension, repair, and the renewals of the watchdog (A7, A8, A11). */
#include "core/lock_internal.h"
#include "core/rules.h"

/* A failed renewal is repeated this many times per TTL until the validity ends. */
#define RETRIES_PER_TTL 20

static void plan_renewal(struct rl_lock *lock, int64_t at_ns)
{
    lock->renew_at_ns = lock->terms.renew ? at_ns : RL_NEVER_NS;
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
    if (by_watchdog && timeout_ns < ttl_ns / RETRIES_PER_TTL)
        timeout_ns = ttl_ns / RETRIES_PER_TTL;
    rl_round_begin(lock, now_ns, timeout_ns);
    lock->extending = true;
    lock->by_watchdog = by_watchdog;
    lock->extension_ttl_ms = (uint32_t)(ttl_ns / RL_NS_PER_MS);
    rl_send(out, RL_OP_EXTEND, lock->policy->all_nodes, lock->round);
}

void rl_renew_begin(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    if (lock->state != RL_HELD) {
        rl_finish(out, REDLOCK_LOST);
        return;
    }
    if (rl_hold_is_over(lock, event->now_ns)) {
        rl_hold_lose(lock, event->now_ns, RL_LOSS_EXPIRED, out);
        rl_finish(out, REDLOCK_LOST);
        return;
    }
    if (is_capped(lock, event->now_ns, event->ttl_ns)) {
        rl_finish(out, REDLOCK_INVAL);
        return;
    }
    start_extension(lock, event->now_ns, event->ttl_ns, false, out);
}

static void begin_jeopardy(struct rl_lock *lock, struct rl_actions *out)
{
    out->jeopardy = !lock->jeopardy;
    lock->jeopardy = true;
    lock->jeopardy_error = rl_no_quorum_error(lock);
}

static void extension_failed(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    /*
     * The old deadline stands (A7), so what was renewed stays: it is the same key. The watchdog
     * tries again while it lasts.
     */
    if (!RL_RULE(EXTENSION_STAYS))
        rl_send(out, RL_OP_ROLLBACK, lock->policy->all_nodes, lock->round);
    lock->extending = false;
    plan_renewal(lock, now_ns + rl_ttl_ns(lock) / RETRIES_PER_TTL);
    begin_jeopardy(lock, out);
    if (!lock->by_watchdog)
        rl_finish(out, lock->jeopardy_error);
}

/*
 * The hold was just proven on a quorum and is valid: nodes that miss our key get it back, for
 * what is left of its time (A8). The engine leaves out nodes in quarantine: a repaired key
 * there would prove nothing, and a later renewal of it must not count. A value that other
 * clients may renew or end stays as it is: two renewals that each won on its own majority would
 * otherwise put back, between them, what a release or an eviction has deleted meanwhile.
 */
void rl_renew_repair(struct rl_lock *lock, uint16_t nodes, struct rl_actions *out)
{
    if (!rl_hold_is_shared(lock) || !RL_RULE(REPAIRED_ALONE))
        rl_send(out, RL_OP_REPAIR, nodes, lock->round);
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
        lock->nodes_with_key = lock->nodes_proving = lock->tally.yes;
        /* The proof of those that have not taken part ends earlier than this deadline. */
        if (RL_RULE(SUCCESSION_GREETED))
            lock->nodes_succeeding = 0;
        rl_renew_repair(lock, rl_nodes_of(lock, REDLOCK_VOTE_MISSING), out);
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
    plan_renewal(lock, lock->round_start_ns + rl_ttl_ns(lock) / RL_RENEWALS_PER_TTL);
    if (!lock->by_watchdog)
        rl_finish(out, REDLOCK_OK);
}

static uint8_t tolerated_count(const struct rl_lock *lock)
{
    return (uint8_t)(lock->policy->node_count - lock->policy->quorum);
}

/*
 * So many nodes report that our key is not there that it cannot be on a majority: another may
 * hold the lock at this moment. That is proof of loss, not a failed extension. Nodes in
 * quarantine are among them: no other may hold it yet, and what is left keeps it so.
 */
bool rl_renew_proves_loss(const struct rl_lock *lock)
{
    return rl_votes_of(lock, REDLOCK_VOTE_MISSING) > tolerated_count(lock);
}

void rl_renew_lost(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    if (!RL_RULE(REST_TO_THE_END))
        lock->deadline_ns = now_ns;
    rl_hold_lose(lock, now_ns, RL_LOSS_MISSING, out);
}

void rl_renew_decide(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    uint8_t silent_count = rl_count_nodes(rl_tally_pending(&lock->tally));

    switch (rl_tally_verdict(&lock->tally)) {
    case RL_TALLY_PENDING:
        return;
    case RL_TALLY_WON:
        extension_won(lock, now_ns, out);
        return;
    case RL_TALLY_LOST:
        /*
         * An extension that cannot be won any more may still prove the loss, as long as nodes
         * have their time to answer: one that is down must not make a failure of what the
         * others know.
         */
        if (rl_renew_proves_loss(lock))
            rl_renew_lost(lock, now_ns, out);
        else if (!RL_RULE(LOSS_PROVEN) || lock->round_deadline_ns == RL_NEVER_NS ||
                 rl_votes_of(lock, REDLOCK_VOTE_MISSING) + silent_count <=
                     tolerated_count(lock))
            extension_failed(lock, now_ns, out);
        return;
    }
}

/*
 * A renewal that is not confirmed in time is in jeopardy, but it stays open: nodes that were
 * slow still answer it, in order, and sending again would only add to what keeps them busy. It
 * ends with its answers, with the connections of nodes that never answer, or with the hold.
 */
static void leave_open(struct rl_lock *lock, struct rl_actions *out)
{
    uint16_t silent = rl_tally_pending(&lock->tally);

    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if (silent & (1u << i))
            lock->node[i].vote = REDLOCK_VOTE_SILENT;
    lock->round_deadline_ns = RL_NEVER_NS;
    begin_jeopardy(lock, out);
}

void rl_renew_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    int64_t now_ns = event->now_ns;

    if (lock->extending) {
        if (now_ns < lock->round_deadline_ns)
            return;
        if (lock->by_watchdog && rl_tally_verdict(&lock->tally) == RL_TALLY_PENDING) {
            leave_open(lock, out);
        } else {
            rl_time_out_silent_nodes(lock, event);
            rl_renew_decide(lock, now_ns, out);
        }
        return;
    }
    if (now_ns < lock->renew_at_ns)
        return;
    if (is_capped(lock, now_ns, rl_ttl_ns(lock)))
        lock->renew_at_ns = RL_NEVER_NS; /* the hold runs out, and its loss is reported */
    else
        start_extension(lock, now_ns, rl_ttl_ns(lock), true, out);
}
