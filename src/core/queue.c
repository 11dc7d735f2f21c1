/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a lock that another holds.
 *
 * After a refused first attempt every node offers the next place of its queue; the largest offer
 * of a quorum is our ticket, and it stays the same from then on. Every later attempt enters the
 * queue with it, tells the nodes that we are alive, and is granted only where we are first. In
 * between we sleep until a node says that the lock is free, or a timer says that it could be:
 * messages may be lost, and servers announce an expiry late or never.
 *
 * Whoever is queued on a quorum before another begins has the smaller ticket on at least one
 * node of the other's quorum: nobody who begins later is served first.
 */
#include "core/kind.h"
#include "core/lock_internal.h"

/* Heartbeats per waiter TTL: every attempt from the queue is one. */
#define HEARTBEATS_PER_TTL 3

/*
 * The release that frees the lock reaches the nodes one after another: a waiter that was told by
 * the first gives the others this long to follow, before its round is lost.
 */
#define PATIENCE_NS (10 * RL_NS_PER_MS)

/* A node says "free", is asked, and refuses: another was faster. Not for ever, in one round. */
#define AGAINS_PER_NODE 4

/*
 * While one of ours holds the lock, the next of ours waits this long before it asks for a place:
 * who holds for a moment only hands over to it directly, without any queue.
 */
#define HAND_OVER_NS (1 * RL_NS_PER_MS)

/* After the key should have expired: a millisecond is as exact as servers count. */
#define EXPIRY_LAG_NS (1 * RL_NS_PER_MS)

void rl_queue_forget(struct rl_lock *lock)
{
    struct rl_pursuit *pursuit = lock->pursuit;

    pursuit->ticket = 0;
    pursuit->place = 0;
    pursuit->woken = 0;
    pursuit->ahead_ms = 0;
}

/*
 * The grant of a lock for one takes our place in that node's queue with it; beside readers and
 * slots others are served, so that place is kept until now. Where we were refused, or nobody knows,
 * it is given up now, so that a holder that dies does not block as the dead head of a queue; who
 * has not answered yet may still grant.
 */
void rl_queue_served(struct rl_lock *lock, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    bool beside_others = !rl_kind(lock->terms.kind)->exclusive;

    lock->came_from_queue = pursuit->ticket != 0;
    lock->unanswered = 0;
    if (pursuit->ticket) {
        lock->unanswered = beside_others ? 0 : rl_tally_pending(&lock->tally);
        rl_send(out, RL_OP_LEAVE, beside_others ? rl_all_nodes(lock) : lock->tally.no,
                lock->round);
    }
    rl_queue_forget(lock);
}

void rl_queue_straggler(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    if (!(lock->unanswered & bit))
        return;
    lock->unanswered &= (uint16_t)~bit;
    if (event->answer.vote != REDLOCK_VOTE_GRANTED && !event->answer.is_synthetic)
        rl_send(out, RL_OP_LEAVE, bit, event->round);
}

void rl_queue_park(struct rl_lock *lock, const struct rl_event *event)
{
    (void)event;
    lock->state = RL_PARKED;
    lock->pursuit->retry_at_ns = RL_NEVER_NS;
    /* Somebody holds it, or there would be nobody before us. */
    lock->pursuit->attempt_error = REDLOCK_BUSY;
}

/* ---- a place ---- */

static void ask_for_tickets(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    lock->state = RL_TICKETING;
    lock->asked = rl_all_nodes(lock);
    lock->round_deadline_ns = now_ns + rl_lock_node_timeout_ns(lock->policy, rl_ttl_ns(lock));
    rl_send(out, RL_OP_TICKET, lock->asked, lock->round);
}

/* The largest offer, once a quorum has made one; 0 before. */
static int64_t agreed_ticket(const struct rl_lock *lock)
{
    const struct rl_pursuit *pursuit = lock->pursuit;
    int64_t ticket = 0;
    uint8_t offers = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        if (lock->node[i].vote != REDLOCK_VOTE_HELD || pursuit->token[i] == 0)
            continue;
        offers++;
        if (pursuit->token[i] > ticket)
            ticket = pursuit->token[i];
    }
    return offers >= lock->policy->quorum ? ticket : 0;
}

static void enter(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    rl_acquire_attempt(lock, event->now_ns, event->random, out);
    lock->pursuit->patience_ns = event->now_ns + PATIENCE_NS;
}

void rl_queue_begin(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    rl_round_begin(lock, now_ns, rl_lock_node_timeout_ns(lock->policy, rl_ttl_ns(lock)));
    lock->pursuit->attempt_error = REDLOCK_BUSY;
    ask_for_tickets(lock, now_ns, out);
}

void rl_queue_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    if (lock->state != RL_PARKED)
        return;
    if (event->now_ns >= lock->pursuit->wait_deadline_ns) {
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
        return;
    }
    if (!event->held_here) {
        rl_acquire_attempt(lock, event->now_ns, event->random, out);
        return;
    }
    lock->pursuit->retry_at_ns = event->now_ns + HAND_OVER_NS;
}

/* Fewer than a quorum made an offer. */
static void give_tickets_up(struct rl_lock *lock, const struct rl_event *event)
{
    lock->pursuit->attempt_error = rl_no_quorum_error(lock);
    rl_acquire_back_off(lock, event);
}

void rl_queue_answer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    uint16_t bit = (uint16_t)(1u << event->node);

    if (event->op != RL_OP_TICKET || event->round != lock->round || !(lock->asked & bit))
        return;
    lock->asked &= (uint16_t)~bit;
    rl_note_answer(lock, event->node, &event->answer, event->now_ns - lock->round_start_ns);
    pursuit->ticket = agreed_ticket(lock);
    if (pursuit->ticket)
        enter(lock, event, out);
    else if (!lock->asked)
        give_tickets_up(lock, event);
}

/* ---- sleeping ---- */

/* When could a quorum of the nodes be free, if nobody tells us? The quorum-th soonest. */
static int64_t free_at_ns(const struct rl_lock *lock, int64_t now_ns)
{
    int64_t sorted[REDLOCK_NODES_MAX];
    uint8_t count = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        int64_t ttl_ms = lock->pursuit->key_ttl_ms[i];
        uint8_t at = count;

        if (lock->node[i].vote == REDLOCK_VOTE_GRANTED)
            ttl_ms = 0;
        else if (lock->node[i].vote != REDLOCK_VOTE_HELD || ttl_ms < 0)
            continue;
        for (; at > 0 && sorted[at - 1] > ttl_ms; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = ttl_ms;
        count++;
    }
    if (count < lock->policy->quorum)
        return RL_NEVER_NS;
    return now_ns + sorted[lock->policy->quorum - 1] * RL_NS_PER_MS + EXPIRY_LAG_NS;
}

/*
 * First on some nodes, which are ours, and no quorum: two collided and must not meet again in
 * step, or the holder is on a bare majority and we got the rest. Full jitter, growing (A9).
 */
static int64_t after_collision_ns(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    int64_t bound_ns = lock->policy->retry_min_ns;

    for (uint8_t i = 0; i < pursuit->collision_count && bound_ns < lock->policy->retry_max_ns;
         i++)
        bound_ns *= 2;
    if (pursuit->collision_count < UINT8_MAX)
        pursuit->collision_count++;
    return event->now_ns + EXPIRY_LAG_NS + bound_ns / 65536 * (int64_t)(event->random >> 16);
}

static void sleep_in_queue(struct rl_lock *lock, const struct rl_event *event)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    int64_t now_ns = event->now_ns;
    int64_t sign_ns = now_ns + (int64_t)RL_WAITER_TTL_MS * RL_NS_PER_MS / HEARTBEATS_PER_TTL;
    int64_t free_ns = free_at_ns(lock, now_ns);
    int64_t ahead_ns = now_ns + pursuit->ahead_ms * RL_NS_PER_MS + EXPIRY_LAG_NS;

    lock->state = RL_QUEUED;
    if (pursuit->ahead_ms > 0 && ahead_ns > free_ns)
        free_ns = ahead_ns;
    if (lock->tally.yes_count > 0)
        free_ns = rl_earlier(free_ns, after_collision_ns(lock, event));
    else
        pursuit->collision_count = 0;
    pursuit->retry_at_ns = rl_earlier(sign_ns, free_ns);
}

void rl_queue_join(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;

    if (pursuit->ticket) {
        sleep_in_queue(lock, event);
        return;
    }
    pursuit->ticket = agreed_ticket(lock);
    if (pursuit->ticket)
        enter(lock, event, out);
    else
        ask_for_tickets(lock, event->now_ns, out);
}

void rl_queue_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    int64_t now_ns = event->now_ns;

    /* The deadline is looked at first, so that no attempt starts after it (A9). */
    if (now_ns >= pursuit->wait_deadline_ns) {
        if (lock->state == RL_PARKED && event->leader_error)
            pursuit->attempt_error = event->leader_error;
        rl_acquire_give_up(lock, out, rl_acquire_final_error(lock));
    } else if (lock->state == RL_TICKETING && now_ns >= lock->round_deadline_ns) {
        for (uint8_t i = 0; i < lock->policy->node_count; i++)
            if (lock->asked & (1u << i))
                lock->node[i].vote = REDLOCK_VOTE_TIMEDOUT;
        give_tickets_up(lock, event);
    } else if (lock->state == RL_QUEUED && now_ns >= pursuit->retry_at_ns) {
        enter(lock, event, out);
    } else if (lock->state == RL_PARKED && now_ns >= pursuit->retry_at_ns) {
        rl_queue_begin(lock, now_ns, out);
    }
}

/* ---- being woken ---- */

static void ask_again(struct rl_lock *lock, uint16_t nodes, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        if (!(nodes & (1u << i)))
            continue;
        /* The same value as before: nothing of this round has been rolled back (A1). */
        rl_tally_reconsider(&lock->tally, i);
        rl_await_answer(lock, i);
        pursuit->again_count++;
    }
    pursuit->woken &= (uint16_t)~nodes;
    rl_send(out, RL_OP_AGAIN, nodes, lock->round);
}

static bool may_ask_again(const struct rl_lock *lock)
{
    return lock->pursuit->again_count < AGAINS_PER_NODE * lock->policy->node_count;
}

void rl_queue_wake(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    uint16_t refused = 0;

    if (lock->state == RL_PARKED && event->handed_over &&
        event->now_ns < pursuit->wait_deadline_ns) {
        lock->polite = true;
        rl_acquire_attempt(lock, event->now_ns, event->random, out);
        return;
    }
    if (lock->state == RL_QUEUED && event->now_ns < pursuit->wait_deadline_ns) {
        if (event->slot <= lock->terms.slots)
            pursuit->free_slot = event->slot;
        enter(lock, event, out);
        return;
    }
    if (lock->state != RL_ACQUIRING || !pursuit->ticket)
        return;
    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if ((event->nodes & (1u << i)) && lock->node[i].vote == REDLOCK_VOTE_HELD)
            refused |= (uint16_t)(1u << i);
    /* Whose answer is still on its way may have refused before it was free. */
    pursuit->woken |= (uint16_t)(event->nodes & ~refused);
    if (refused && may_ask_again(lock))
        ask_again(lock, refused, out);
}

/* The nodes see the same holders, so the first one's word is as good as any. */
static void note_free_slot(struct rl_lock *lock, const struct rl_answer *answer)
{
    struct rl_pursuit *pursuit = lock->pursuit;

    if (!pursuit->free_slot && answer->free_slot[0] <= lock->terms.slots)
        pursuit->free_slot = answer->free_slot[0];
}

void rl_queue_refused(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_pursuit *pursuit = lock->pursuit;
    const struct rl_answer *answer = &event->answer;
    uint16_t bit = (uint16_t)(1u << event->node);

    note_free_slot(lock, answer);
    if (!pursuit->ticket)
        return;
    if (answer->place > pursuit->place || pursuit->place_round != lock->round)
        pursuit->place = answer->place;
    pursuit->place_round = lock->round;
    if (answer->ahead_ms > pursuit->ahead_ms)
        pursuit->ahead_ms = answer->ahead_ms;
    if ((pursuit->woken & bit) && may_ask_again(lock))
        ask_again(lock, bit, out);
}

bool rl_queue_has_patience(const struct rl_lock *lock, int64_t now_ns)
{
    const struct rl_pursuit *pursuit = lock->pursuit;

    if (!pursuit->ticket || now_ns >= pursuit->patience_ns ||
        pursuit->patience_ns == RL_NEVER_NS)
        return false;
    /* Nobody can be served but us, or somebody has not answered yet: it may still turn. */
    return lock->tally.yes_count > 0 || rl_tally_pending(&lock->tally) != 0;
}
