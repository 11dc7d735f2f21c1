/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/lock_internal.h"

#include <assert.h>

#include "core/rules.h"

#define COUNT_VOTE(name, text) +1
_Static_assert((0 REDLOCK_VOTES(COUNT_VOTE)) <= 1 << RL_VOTE_BITS, "every vote has its number");
#undef COUNT_VOTE

#define DRIFT_FIXED_NS (2 * RL_NS_PER_MS)

int64_t rl_validity_end_ns(int64_t start_ns, int64_t ttl_ns, uint32_t drift_ppm)
{
    /* A day of ttl (8.64e13 ns) divided first: no overflow for any ppm up to 100 %. */
    int64_t drift_ns = ttl_ns / 1000000 * drift_ppm + DRIFT_FIXED_NS;

    return start_ns + ttl_ns - (RL_RULE(DRIFT) ? drift_ns : 0);
}

/* ---- a round ---- */

const struct rl_answer rl_no_answer = {REDLOCK_VOTE_PENDING, .key_ttl_ms = -1};

void rl_send(struct rl_actions *out, enum rl_op op, uint16_t nodes, uint32_t round)
{
    assert(out->send_count < RL_SENDS_MAX);
    if (nodes)
        out->send[out->send_count++] = (struct rl_send){op, nodes, round};
}

void rl_finish(struct rl_actions *out, int error)
{
    out->done = true;
    out->done_error = error;
}

void rl_round_begin(struct rl_lock *lock, int64_t now_ns, int64_t timeout_ns)
{
    lock->round++;
    lock->round_start_ns = now_ns;
    lock->round_deadline_ns = now_ns + timeout_ns;
    lock->tally = (struct rl_tally){
        .node_count = lock->policy->node_count,
        .quorum = lock->policy->quorum,
    };
    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        rl_note_answer(lock, i, &rl_no_answer, -1);
}

void rl_note_answer(struct rl_lock *lock, uint8_t node, const struct rl_answer *answer,
                    int64_t rtt_ns)
{
    lock->node[node] = (struct rl_node_vote){
        .vote = answer->vote,
        .rtt_us = rtt_ns < 0 || answer->is_synthetic ? -1 : rl_rtt_us(rtt_ns),
    };
    if (!lock->acquisition)
        return;
    lock->acquisition->key_ttl_ms[node] = answer->key_ttl_ms;
    lock->acquisition->same_tag[node] = answer->same_tag;
    lock->acquisition->token_or_ticket[node] =
        answer->vote == REDLOCK_VOTE_TAKEN ? answer->ticket : answer->token;
}

void rl_time_out_silent_nodes(struct rl_lock *lock, const struct rl_event *event)
{
    uint16_t silent = (uint16_t)(rl_tally_pending(&lock->tally) & ~event->warming);

    lock->round_deadline_ns = event->warm_at_ns;

    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        if (!(silent & (1u << i)))
            continue;
        rl_tally_vote(&lock->tally, i, false);
        rl_note_answer(lock, i, &(struct rl_answer){REDLOCK_VOTE_SILENT, .key_ttl_ms = -1}, -1);
    }
}

uint16_t rl_nodes_of(const struct rl_lock *lock, enum redlock_vote vote)
{
    uint16_t nodes = 0;

    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if (lock->node[i].vote == vote)
            nodes |= (uint16_t)(1u << i);
    return nodes;
}

uint8_t rl_count_votes(const struct rl_policy *policy, const struct rl_node_vote *votes,
                       enum redlock_vote vote)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < policy->node_count; i++)
        count += votes[i].vote == vote;
    return count;
}

uint8_t rl_votes_of(const struct rl_lock *lock, enum redlock_vote vote)
{
    return rl_count_votes(lock->policy, lock->node, vote);
}

/*
 * Why could the nodes not form a quorum? Refused credentials and foreign protocols are named
 * when they alone prevent it: waiting does not mend those.
 */
int rl_no_quorum_error(const struct rl_lock *lock)
{
    uint8_t tolerated = (uint8_t)(lock->policy->node_count - lock->policy->quorum);
    uint8_t guarded_count = rl_votes_of(lock, REDLOCK_VOTE_GUARDED);

    if (rl_votes_of(lock, REDLOCK_VOTE_AUTH) + rl_votes_of(lock, REDLOCK_VOTE_NOPERM) >
        tolerated)
        return REDLOCK_AUTH;
    if (rl_votes_of(lock, REDLOCK_VOTE_PROTO) > tolerated)
        return REDLOCK_PROTO;
    /* Nodes in quarantine answered: with their votes it would have been a quorum. */
    if (guarded_count > 0 && lock->tally.no_count - guarded_count <= tolerated)
        return REDLOCK_GUARDED;
    return REDLOCK_NOQUORUM;
}

int64_t rl_lock_node_timeout_ns(const struct rl_policy *policy, int64_t ttl_ns)
{
    int64_t quarter_ns = ttl_ns / 4;

    return ttl_ns && quarter_ns < policy->node_timeout_ns ? quarter_ns
                                                          : policy->node_timeout_ns;
}

int64_t rl_round_timeout_ns(const struct rl_lock *lock)
{
    return rl_lock_node_timeout_ns(lock->policy, rl_ttl_ns(lock));
}

/* ---- one step ---- */

void rl_lock_init(struct rl_lock *lock, const struct rl_policy *policy,
                  const struct rl_lock_terms *terms, struct rl_node_vote *votes,
                  struct rl_acquisition *acquisition)
{
    *lock = (struct rl_lock){
        .policy = policy,
        .acquisition = acquisition,
        .node = votes,
        .terms = *terms,
        .state = RL_IDLE,
        .renew_at_ns = RL_NEVER_NS,
    };
    *acquisition = (struct rl_acquisition){.grace_ends_ns = RL_NEVER_NS};
    for (uint8_t i = 0; i < policy->node_count; i++) {
        votes[i] = (struct rl_node_vote){REDLOCK_VOTE_NONE, -1};
        acquisition->key_ttl_ms[i] = -1;
    }
}

void rl_lock_adopt(struct rl_lock *lock)
{
    lock->state = RL_HELD;
    lock->adopted = lock->foreign = true;
    lock->deadline_ns = 0;
    /* The TTL that the other process used is unknown: no renewal may shorten it. */
    lock->longest_ttl_ms = RL_LONGEST_TTL_MS;
}

/* By the state that they meet; NULL: dropped. */
static rl_step_fn *const on_answer[RL_ENDED + 1] = {
    [RL_ACQUIRING] = rl_acquire_answer, [RL_ALIGNING] = rl_acquire_answer,
    [RL_INQUIRING] = rl_acquire_answer, [RL_BACKOFF] = rl_acquire_answer,
    [RL_QUEUED] = rl_acquire_answer,    [RL_TICKETING] = rl_queue_answer,
    [RL_HELD] = rl_hold_answer,         [RL_RELEASING] = rl_release_answer,
    [RL_CHECKING] = rl_release_answer,
};

static rl_step_fn *const on_timer[RL_ENDED + 1] = {
    [RL_ACQUIRING] = rl_acquire_timer, [RL_ALIGNING] = rl_acquire_timer,
    [RL_INQUIRING] = rl_acquire_timer, [RL_BACKOFF] = rl_acquire_timer,
    [RL_PARKED] = rl_queue_timer,      [RL_TICKETING] = rl_queue_timer,
    [RL_QUEUED] = rl_queue_timer,      [RL_HELD] = rl_hold_timer,
    [RL_RELEASING] = rl_release_timer, [RL_CHECKING] = rl_release_timer,
};

void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out)
{
    out->send_count = 0;
    out->done = false;
    out->done_error = REDLOCK_OK;
    out->lost = out->jeopardy = out->recovered = false;
    out->loss = RL_LOSS_EXPIRED;

    switch (event->type) {
    case RL_EVENT_ACQUIRE:
        rl_acquire_begin(lock, event, out);
        return;
    case RL_EVENT_ANSWER:
        if (on_answer[lock->state])
            on_answer[lock->state](lock, event, out);
        return;
    case RL_EVENT_TIMER:
        if (lock->state == RL_ENDED)
            rl_hold_sweep(lock, event->now_ns, out);
        else if (on_timer[lock->state])
            on_timer[lock->state](lock, event, out);
        return;
    case RL_EVENT_EXTEND:
        rl_renew_begin(lock, event, out);
        return;
    case RL_EVENT_RELEASE:
        rl_release_begin(lock, event, out);
        return;
    case RL_EVENT_CANCEL:
        rl_acquire_cancel(lock, out);
        return;
    case RL_EVENT_NODE_OUT:
        if (lock->state == RL_HELD)
            rl_hold_node_out(lock, event, out);
        else
            rl_acquire_node_out(lock, event, out);
        return;
    case RL_EVENT_OUR_CLOCK:
        if (lock->state == RL_HELD)
            rl_hold_lose(lock, event->now_ns, RL_LOSS_UNTRUSTED, out);
        else if (lock->state == RL_ACQUIRING || lock->state == RL_ALIGNING)
            /* The start that the validity counts from was wrong, too. */
            rl_acquire_fail(lock, event, out);
        return;
    case RL_EVENT_UNPARK:
        rl_queue_unpark(lock, event, out);
        return;
    case RL_EVENT_WAKE:
        rl_queue_wake(lock, event, out);
        return;
    case RL_EVENT_SETS_KNOWN:
        rl_acquire_sets_known(lock, event, out);
        return;
    case RL_EVENT_TOO_LATE:
        rl_hold_take_back(lock, event, out);
        return;
    case RL_EVENT_TERM:
        if (lock->state == RL_HELD)
            rl_hold_new_term(lock, event);
        else
            rl_acquire_new_term(lock, event, out);
        return;
    case RL_EVENT_GREETED:
        if (lock->state == RL_HELD)
            rl_hold_succeed(lock, event);
        return;
    }
}

int64_t rl_lock_timer_ns(const struct rl_lock *lock)
{
    const struct rl_acquisition *acquisition = lock->acquisition;
    int64_t wait_ns = acquisition && acquisition->wait_deadline_ns
                          ? acquisition->wait_deadline_ns
                          : RL_NEVER_NS;
    int64_t held_ns;

    switch (lock->state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
        /* The grace matters only to a round that is lost without it. */
        if (rl_tally_verdict(&lock->tally) == RL_TALLY_LOST)
            wait_ns = rl_earlier(wait_ns, acquisition->grace_ends_ns);
        return rl_earlier(
            rl_earlier(lock->round_deadline_ns, wait_ns),
            rl_validity_end_ns(lock->round_start_ns, rl_ttl_ns(lock), lock->policy->drift_ppm));
    case RL_BACKOFF:
    case RL_QUEUED:
    case RL_PARKED:
        return rl_earlier(acquisition->retry_at_ns, wait_ns);
    case RL_TICKETING:
        return rl_earlier(lock->round_deadline_ns, wait_ns);
    case RL_HELD:
        held_ns = lock->extending ? lock->round_deadline_ns : lock->renew_at_ns;
        if (!RL_RULE(LOSS_TIMER) || lock->adopted)
            return held_ns;
        return rl_earlier(held_ns, rl_hold_loss_notice_ns(lock, lock->deadline_ns));
    case RL_INQUIRING:
    case RL_RELEASING:
    case RL_CHECKING:
        return lock->round_deadline_ns;
    case RL_ENDED:
        return lock->sweep_at_ns;
    case RL_IDLE:
        break;
    }
    return RL_NEVER_NS;
}
