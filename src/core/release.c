/* SPDX-License-Identifier: BSD-2-Clause */
/* Giving a lock back, and what became of it: released, expired or taken by another (A6). */
#include "core/kind.h"
#include "core/lock_internal.h"

void rl_release_begin(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    lock->released_late = !lock->adopted && event->now_ns >= lock->deadline_ns;
    lock->deadline_ns = 0;
    lock->extending = false;
    lock->renew_at_ns = RL_NEVER_NS;
    lock->nodes_with_key = 0;
    lock->state = RL_RELEASING;
    rl_round_begin(lock, event->now_ns, rl_round_timeout_ns(lock));
    /* All nodes, also those that never granted: a lost reply is no proof of a lost SET. */
    rl_send(out, RL_OP_RELEASE, lock->policy->all_nodes, lock->round);
    rl_send(out, RL_OP_LEAVE, lock->maybe_queued, lock->round);
    lock->maybe_queued = 0;
}

static void end(struct rl_lock *lock, struct rl_actions *out, int error)
{
    lock->state = RL_ENDED;
    rl_finish(out, error);
}

static void decide_release(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out)
{
    uint8_t quorum = lock->policy->quorum;
    uint8_t tolerated = (uint8_t)(lock->policy->node_count - quorum);
    uint16_t missing;
    uint8_t missing_count;

    if (lock->tally.yes_count >= quorum) {
        end(lock, out, lock->released_late ? REDLOCK_EXPIRED : REDLOCK_OK);
        return;
    }
    if (lock->tally.no_count == 0)
        return;
    missing = rl_nodes_of(lock, REDLOCK_VOTE_MISSING);
    missing_count = rl_count_nodes(missing);
    if (missing_count > tolerated) {
        /* Our key cannot have been on a majority any more. Is another's there now? */
        if (!rl_kinds[lock->terms.kind].single) {
            /* Others may hold it beside us: their presence proves nothing. */
            end(lock, out, REDLOCK_EXPIRED);
            return;
        }
        lock->state = RL_CHECKING;
        lock->awaited = missing;
        lock->round_deadline_ns = now_ns + rl_round_timeout_ns(lock);
        rl_send(out, RL_OP_INQUIRE, missing, lock->round);
    } else if (!rl_tally_pending(&lock->tally)) {
        /* Deleted or absent on a majority: no client is kept out any more. */
        if (lock->tally.yes_count + missing_count >= quorum)
            end(lock, out, lock->released_late ? REDLOCK_EXPIRED : REDLOCK_OK);
        else
            end(lock, out, rl_no_quorum_error(lock));
    }
}

static void end_check(struct rl_lock *lock, struct rl_actions *out)
{
    uint8_t taken_count = rl_votes_of(lock, REDLOCK_VOTE_TAKEN);
    uint8_t missing_count = rl_votes_of(lock, REDLOCK_VOTE_MISSING);

    end(lock, out, taken_count > missing_count ? REDLOCK_LOST : REDLOCK_EXPIRED);
}

void rl_release_answer(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out)
{
    uint16_t bit = (uint16_t)(1u << event->node);

    if (event->round != lock->round)
        return;
    if (lock->state == RL_CHECKING && event->op == RL_OP_INQUIRE && (lock->awaited & bit)) {
        lock->awaited &= (uint16_t)~bit;
        if (event->answer.vote == REDLOCK_VOTE_TAKEN)
            rl_note_answer(lock, event->node, &event->answer,
                           event->now_ns - lock->round_start_ns);
        if (!lock->awaited)
            end_check(lock, out);
        return;
    }
    if (event->op != RL_OP_RELEASE ||
        !rl_tally_vote(&lock->tally, event->node, event->answer.vote == REDLOCK_VOTE_GRANTED))
        return;
    rl_note_answer(lock, event->node, &event->answer, event->now_ns - lock->round_start_ns);
    if (lock->state == RL_RELEASING)
        decide_release(lock, event->now_ns, out);
}

void rl_release_timer(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    if (event->now_ns < lock->round_deadline_ns)
        return;
    if (lock->state == RL_CHECKING) {
        end_check(lock, out);
        return;
    }
    rl_time_out_silent_nodes(lock, event);
    decide_release(lock, event->now_ns, out);
}
