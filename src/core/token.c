/* SPDX-License-Identifier: BSD-2-Clause */
/* The fencing token of a grant, and what it takes for it to hold over a quorum. */
#include "core/kind.h"
#include "core/lock_internal.h"
#include "core/rules.h"

void rl_token_note_owners(struct rl_lock *lock, uint8_t node, int64_t token)
{
    struct rl_acquisition *acquisition = lock->acquisition;

    acquisition->nested |= (uint16_t)(1u << node);
    for (int i = 0; i < 2; i++) {
        struct rl_owners_token *owners = &acquisition->owners[i];

        if (owners->count > 0 && owners->token != token)
            continue;
        owners->token = token;
        owners->count++;
        return;
    }
}

/*
 * A nested hold has the token of its owner's first hold, once a quorum reports which: the
 * owner's lock has been there on a quorum ever since, so no other owner can have held it in
 * between. A node where a leftover of the owner remains reports another token, and alone.
 *
 * True: settled, or worth waiting for nodes that have not answered yet.
 */
static bool agree_nested(struct rl_lock *lock, int64_t end_ns, struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint8_t silent_count = rl_count_nodes(rl_tally_pending(&lock->tally));

    for (int i = 0; i < 2; i++) {
        if (acquisition->owners[i].count <
            (RL_RULE(NESTED_BY_QUORUM) ? lock->policy->quorum : 1))
            continue;
        lock->token = acquisition->owners[i].token;
        rl_hold_begin(lock, end_ns, out);
        return true;
    }
    return acquisition->owners[0].count + silent_count >= lock->policy->quorum ||
           acquisition->owners[1].count + silent_count >= lock->policy->quorum;
}

/*
 * The token is the largest that a granting node gave. It is unique and larger than every
 * earlier one once a quorum of granting nodes has it for their counter; usually they all do at
 * once. Otherwise it is written back, to granting nodes only and only while they are still
 * ours: writing to any majority lets two holders end up with one token.
 *
 * A node that returned the owner's first token would return it again to the owner's next hold,
 * which must not get less than this one: there it is written back in any case.
 */
void rl_token_agree(struct rl_lock *lock, const struct rl_event *event, int64_t end_ns,
                    struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t unaligned = 0;

    if (acquisition->owners[0].count > 0 && agree_nested(lock, end_ns, out))
        return;
    lock->token = 0;
    for (uint8_t i = 0; i < lock->policy->node_count; i++)
        if ((lock->tally.yes & (1u << i)) && acquisition->token_or_ticket[i] > lock->token)
            lock->token = acquisition->token_or_ticket[i];
    acquisition->aligned = 0;
    for (uint8_t i = 0; i < lock->policy->node_count; i++) {
        bool granted = lock->tally.yes & (1u << i);

        if (granted && acquisition->token_or_ticket[i] == lock->token &&
            !(acquisition->nested & (1u << i)))
            acquisition->aligned |= (uint16_t)(1u << i);
        else if (granted == RL_RULE(ALIGN_WHERE_GRANTED))
            unaligned |= (uint16_t)(1u << i);
    }
    if (!RL_RULE(ALIGN))
        acquisition->aligned = lock->tally.yes;
    if (rl_count_nodes(acquisition->aligned) >= lock->policy->quorum) {
        rl_hold_begin(lock, end_ns, out);
        return;
    }
    lock->state = RL_ALIGNING;
    acquisition->grace_ends_ns = RL_NEVER_NS; /* that was for refusals: the round is won */
    lock->awaited = unaligned;
    lock->round_deadline_ns = event->now_ns + rl_round_timeout_ns(lock);
    rl_send(out, RL_OP_ALIGN, unaligned, lock->round);
}

/* One node's counter was raised to the token, or could not be. */
void rl_token_aligned(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out)
{
    struct rl_acquisition *acquisition = lock->acquisition;
    uint16_t bit = (uint16_t)(1u << event->node);
    int64_t end_ns =
        rl_validity_end_ns(lock->round_start_ns, rl_ttl_ns(lock), lock->policy->drift_ppm);
    bool in_time =
        !acquisition->wait_deadline_ns || event->now_ns <= acquisition->wait_deadline_ns;

    if (lock->state != RL_ALIGNING || !(lock->awaited & bit))
        return;
    lock->awaited &= (uint16_t)~bit;
    if (event->answer.vote == REDLOCK_VOTE_GRANTED)
        acquisition->aligned |= bit;
    /* The extra round trip took time: the validity is looked at again. */
    if (event->now_ns >= rl_hold_loss_notice_ns(lock, end_ns) || !in_time)
        rl_acquire_fail(lock, event, out);
    else if (rl_count_nodes(acquisition->aligned) >= lock->policy->quorum)
        rl_hold_begin(lock, end_ns, out);
    else if (rl_count_nodes(acquisition->aligned | lock->awaited) < lock->policy->quorum)
        rl_acquire_fail(lock, event, out);
}

/*
 * Late grants, during alignment or after it, and repaired holds of an owner get its token too:
 * nested holds will need it.
 */
void rl_token_straggler(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out)
{
    const struct rl_answer *answer = &event->answer;
    bool names_another = answer->owners_token && answer->owners_token != lock->token;

    if (rl_kinds[lock->terms.kind].has_owner && answer->vote == REDLOCK_VOTE_GRANTED &&
        (answer->token != lock->token || names_another))
        rl_send(out, RL_OP_ALIGN, (uint16_t)(1u << event->node), lock->round);
}
