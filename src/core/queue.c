/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a lock that another holds.
 *
 * After a refused first attempt every node offers the next place of its queue; the largest
 * offer of a quorum is our ticket, and it stays the same from then on. Every later attempt
 * enters the queue with it, sends heartbeats, and is granted only where we are
 * first. In between we sleep until a node reports that the lock is free, or a timer that it
 * could be: messages may be lost, and servers announce an expiry late or never.
 *
 * A waiter that is queued on a quorum before another begins has the smaller ticket on at least
 * one node of the other's quorum: no waiter that begins later is served first.
 */
#include "core/kind.h"
#include "core/lock_internal.h"
#include "core/rules.h"

/* Heartbeats per waiter TTL: every attempt from the queue is one. */
#define HEARTBEATS_PER_TTL 3

/*
 * The release that frees the lock reaches the nodes one after another: a waiter that was woken
 * by the first gives the others this long to follow, before its round is lost.
 */
#define GRACE_NS (10 * RL_NS_PER_MS)

/* How often one round repeats the request to a node that reports "free" and then refuses. */
#define AGAINS_PER_NODE 4

/*
 * While this client holds the lock, its next waiter waits this long before it requests a place:
 * a short hold is handed over to it directly, without any queue.
 */
#define HANDOVER_WAIT_NS (1 * RL_NS_PER_MS)

/* After the key should have expired: a millisecond is as exact as servers count. */
#define EXPIRY_LAG_NS (1 * RL_NS_PER_MS)

void rl_queue_forget(struct rl_lock *lock)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    acquisition->ticket = 0;
    acquisition->place = 0;
    acquisition->woken = 0;
    acquisition->ahead_ms = 0;
}

/*
 * The grant of an exclusive lock takes our place in that node's queue with it; beside readers
 * and slots others are served, so that place is kept until now. Where we were refused, or the
 * outcome is unknown, it is given up now: if this holder dies, its entry must not block that
 * queue as a dead head. A node that has not answered yet may still grant.
 */
void rl_queue_served(struct rl_lock *lock, struct rl_actions *out)
{
    bool several_hold = !rl_kinds[lock->terms.kind].exclusive;

    lock->came_from_queue = true;
    lock->maybe_queued = several_hold ? 0 : rl_tally_pending(&lock->tally);
    rl_send(out, RL_OP_LEAVE, several_hold ? lock->policy->all_nodes : lock->tally.no,
            lock->round);
    rl_queue_forget(lock);
}

void rl_queue_straggler(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    if (!(lock->maybe_queued & bit))
        return;
    lock->maybe_queued &= (uint16_t)~bit;
    if (event->answer.vote != REDLOCK_VOTE_GRANTED && !event->answer.is_synthetic)
        rl_send(out, RL_OP_LEAVE, bit, event->round);
}

void rl_queue_park(struct rl_lock *lock)
{
    lock->state = RL_PARKED;
    lock->acquisition->retry_at_ns = RL_NEVER_NS;
    /* It is held, or there would be no waiter before us. */
    lock->acquisition->attempt_error = REDLOCK_BUSY;
}

/* ---- a place ---- */

static void request_tickets(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    lock->state = RL_TICKETING;
    lock->awaited = lock->policy->all_nodes;
    lock->round_deadline_ns = now_ns + rl_round_timeout_ns(lock);
    rl_send(out, RL_OP_TICKET, lock->awaited, lock->round);
}

/* The largest offer, once a quorum has made one; 0 before. */
static int64_t agreed_ticket(const struct rl_lock *lock)
{
    const struct rl_acquisition *acquisition = lock->acquisition;
    int64_t ticket = 0;
    uint8_t offers = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        if (lock->node[i].vote != REDLOCK_VOTE_TAKEN || acquisition->token_or_ticket[i] == 0)
            continue;
        offers++;
        if (acquisition->token_or_ticket[i] > ticket)
            ticket = acquisition->token_or_ticket[i];
    }
    return offers >= lock->policy->quorum ? ticket : 0;
}

static void enter(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    rl_acquire_attempt(lock, event, out);
    lock->acquisition->grace_ends_ns = event->now_ns + GRACE_NS;
}

void rl_queue_begin(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    rl_round_begin(lock, now_ns, rl_round_timeout_ns(lock));
    lock->acquisition->attempt_error = REDLOCK_BUSY;
    request_tickets(lock, now_ns, out);
}

void rl_queue_unpark(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    if (lock->state != RL_PARKED)
        return;
    if (event->now_ns >= lock->acquisition->wait_deadline_ns)
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
    else if (!event->client_holds)
        rl_acquire_attempt(lock, event, out);
    else
        lock->acquisition->retry_at_ns = event->now_ns + HANDOVER_WAIT_NS;
}

/* Fewer than a quorum made an offer. */
static void give_tickets_up(struct rl_lock *lock, const struct rl_event *event)
{
    lock->acquisition->attempt_error = rl_no_quorum_error(lock);
    rl_acquire_back_off(lock, event);
}

void rl_queue_answer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t bit = (uint16_t)(1u << event->node);

    if (event->op != RL_OP_TICKET || event->round != lock->round || !(lock->awaited & bit))
        return;
    lock->awaited &= (uint16_t)~bit;
    rl_note_answer(lock, event->node, &event->answer, event->now_ns - lock->round_start_ns);
    acquisition->ticket = agreed_ticket(lock);
    if (acquisition->ticket)
        enter(lock, event, out);
    else if (!lock->awaited)
        give_tickets_up(lock, event);
}

/* ---- sleeping ---- */

/* When could a quorum of the nodes be free, if no message comes? The quorum-th soonest. */
static int64_t free_at_ns(const struct rl_lock *lock, int64_t now_ns)
{
    int64_t sorted[REDLOCK_NODES_MAX];
    uint8_t count = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        int64_t ttl_ms = lock->acquisition->key_ttl_ms[i];
        uint8_t at = count;

        if (lock->node[i].vote == REDLOCK_VOTE_GRANTED)
            ttl_ms = 0;
        else if (lock->node[i].vote != REDLOCK_VOTE_TAKEN || ttl_ms < 0)
            continue;
        for (; at > 0 && sorted[at - 1] > ttl_ms; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = ttl_ms;
        count++;
    }
    if (count < lock->policy->quorum || !RL_RULE(EXPIRY_TIMER))
        return RL_NEVER_NS;
    return now_ns + sorted[lock->policy->quorum - 1] * RL_NS_PER_MS + EXPIRY_LAG_NS;
}

/*
 * Granted by some nodes, but no quorum: two waiters collided and must not retry in step, or the
 * holder is on a bare majority and we got the rest. Full jitter, growing (A9).
 */
static int64_t after_collision_ns(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t bound_ns = lock->policy->retry_min_ns;

    for (uint8_t i = 0;
         i < acquisition->collision_count && bound_ns < lock->policy->retry_max_ns; i++)
        bound_ns *= 2;
    if (acquisition->collision_count < UINT8_MAX)
        acquisition->collision_count++;
    return event->now_ns + EXPIRY_LAG_NS + bound_ns / 65536 * (int64_t)(event->random >> 16);
}

static void sleep_in_queue(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t now_ns = event->now_ns;
    int64_t heartbeat_ns =
        now_ns + (int64_t)RL_WAITER_TTL_MS * RL_NS_PER_MS / HEARTBEATS_PER_TTL;
    int64_t free_ns = free_at_ns(lock, now_ns);
    int64_t ahead_ns = now_ns + acquisition->ahead_ms * RL_NS_PER_MS + EXPIRY_LAG_NS;

    lock->state = RL_QUEUED;
    if (acquisition->ahead_ms > 0 && ahead_ns > free_ns)
        free_ns = ahead_ns;
    if (lock->tally.yes_count > 0 && (RL_RULE(LATE_LOOK) || acquisition->ahead_ms == 0))
        free_ns = rl_earlier(free_ns, after_collision_ns(lock, event));
    else
        acquisition->collision_count = 0;
    acquisition->retry_at_ns = rl_earlier(heartbeat_ns, free_ns);
}

void rl_queue_join(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    if (acquisition->ticket) {
        sleep_in_queue(lock, event);
        return;
    }
    acquisition->ticket = agreed_ticket(lock);
    if (acquisition->ticket)
        enter(lock, event, out);
    else
        request_tickets(lock, event->now_ns, out);
}

void rl_queue_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    int64_t now_ns = event->now_ns;

    /* The deadline is looked at first, so that no attempt starts after it (A9). */
    if (now_ns >= acquisition->wait_deadline_ns) {
        if (lock->state == RL_PARKED && event->leader_error)
            acquisition->attempt_error = event->leader_error;
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
    } else if (lock->state == RL_TICKETING && now_ns >= lock->round_deadline_ns) {
        for (uint8_t i = 0; i < lock->policy->node_count; i++)
            if (lock->awaited & (1u << i))
                lock->node[i].vote = REDLOCK_VOTE_SILENT;
        give_tickets_up(lock, event);
    } else if (lock->state == RL_QUEUED && now_ns >= acquisition->retry_at_ns) {
        enter(lock, event, out);
    } else if (lock->state == RL_PARKED && now_ns >= acquisition->retry_at_ns) {
        rl_queue_begin(lock, now_ns, out);
    }
}

/* ---- being woken ---- */

static void send_again(struct rl_lock *lock, uint16_t nodes, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        if (!(nodes & (1u << i)))
            continue;
        /* The same value as before: nothing of this round has been rolled back (A1). */
        rl_tally_reconsider(&lock->tally, i);
        rl_note_answer(lock, i, &rl_no_answer, -1);
        acquisition->again_count++;
    }
    acquisition->woken &= (uint16_t)~nodes;
    rl_send(out, RL_OP_ACQUIRE_AGAIN, nodes, lock->round);
}

static bool may_send_again(const struct rl_lock *lock)
{
    return lock->acquisition->again_count < AGAINS_PER_NODE * lock->policy->node_count;
}

void rl_queue_wake(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t refused = 0;

    if (lock->state == RL_PARKED && event->behind_release &&
        event->now_ns < acquisition->wait_deadline_ns) {
        lock->overtakes_none = true;
        rl_acquire_attempt(lock, event, out);
        return;
    }
    if (lock->state == RL_QUEUED && event->now_ns < acquisition->wait_deadline_ns) {
        if (event->slot <= lock->terms.slots)
            acquisition->free_slot = event->slot;
        enter(lock, event, out);
        return;
    }
    if (lock->state != RL_ACQUIRING || !acquisition->ticket)
        return;
    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if ((event->nodes & (1u << i)) && lock->node[i].vote == REDLOCK_VOTE_TAKEN)
            refused |= (uint16_t)(1u << i);
    /* A node whose answer is still on its way may have refused before the lock was free. */
    acquisition->woken |= (uint16_t)(event->nodes & ~refused);
    if (refused && may_send_again(lock))
        send_again(lock, refused, out);
}

void rl_queue_refused(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    const struct rl_answer *answer = &event->answer;
    uint16_t bit = (uint16_t)(1u << event->node);

    /* The nodes see the same holders, so the first answer is as good as any. */
    if (!acquisition->free_slot && answer->free_slot[0] <= lock->terms.slots)
        acquisition->free_slot = answer->free_slot[0];
    if (!acquisition->ticket)
        return;
    if (answer->place > acquisition->place || acquisition->place_round != lock->round)
        acquisition->place = answer->place;
    acquisition->place_round = lock->round;
    if (answer->ahead_ms > acquisition->ahead_ms)
        acquisition->ahead_ms = answer->ahead_ms;
    if ((acquisition->woken & bit) && may_send_again(lock))
        send_again(lock, bit, out);
}

bool rl_queue_has_grace(const struct rl_lock *lock, int64_t now_ns)
{
    const struct rl_acquisition *acquisition = lock->acquisition;

    if (!acquisition->ticket || now_ns >= acquisition->grace_ends_ns ||
        acquisition->grace_ends_ns == RL_NEVER_NS)
        return false;
    /* We block every other waiter, or a node has not answered yet: the round may
     * still be won. */
    return lock->tally.yes_count > 0 || rl_tally_pending(&lock->tally) != 0;
}
