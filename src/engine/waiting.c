/* SPDX-License-Identifier: BSD-2-Clause */
/* Several waiters of one client: whose turn it is, who is woken, who must be polite. */
#include "core/kind.h"
#include "core/rules.h"
#include "engine/engine.h"

#define COURTESY_NS RL_NS_PER_S

/* The next of our waiters has its turn, as soon as the timers are looked at. */
void rl_leave_line(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_handle *next = rl_line_leave(&engine->lines, handle);
    struct rl_seeker *seeker;

    if (!next)
        return;
    seeker = rl_seeker_of(next);
    seeker->waiter = rl_line_number(seeker->line);
    seeker->turn = true;
    seeker->held_here =
        handle->lock.state == RL_HELD && rl_kind(handle->lock.terms.kind)->single;
    rl_timers_set(&engine->timers, &next->timer, now_ns);
}

void rl_handle_wake(struct rl_engine *engine, struct rl_handle *handle, uint16_t nodes,
                    uint16_t slot, int64_t now_ns)
{
    rl_handle_step(engine, handle,
                   &(struct rl_event){
                       .type = RL_EVENT_WAKE, .now_ns = now_ns, .nodes = nodes, .slot = slot});
}

void rl_handles_wake(struct rl_engine *engine, uint8_t node, bool sleepers, int64_t now_ns)
{
    for (uint32_t i = 0; i < engine->lines.capacity; i++) {
        struct rl_line *line = engine->lines.all[i];

        if (line && (sleepers || line->first->lock.state != RL_QUEUED))
            rl_handle_wake(engine, line->first, (uint16_t)(1u << node), 0, now_ns);
    }
}

/*
 * Our own release is on its way. The next of ours need not wait to be told, if it is first in the
 * nodes' queue, or has not asked for a place yet: its request travels right behind.
 */
void rl_wake_our_own(struct rl_engine *engine, const struct rl_handle *released, int64_t now_ns)
{
    struct rl_line *line = rl_line_find(&engine->lines, rl_claim_key(released->claim));
    struct rl_event event = {
        .type = RL_EVENT_WAKE,
        .now_ns = now_ns,
        .nodes = (uint16_t)((1u << engine->policy.node_count) - 1),
        .slot = released->lock.slot,
        .handed_over = rl_kind(released->lock.terms.kind)->single,
    };
    struct rl_handle *next = line ? line->first : NULL;

    if (!next)
        return;
    if (next->lock.state == RL_PARKED && event.handed_over) {
        rl_seeker_of(next)->turn = false;
        rl_seeker_of(next)->follows = true;
    } else if (next->lock.state != RL_QUEUED || next->lock.pursuit->place != 1) {
        return;
    }
    rl_handle_step(engine, next, &event);
    if (next->lock.pursuit)
        rl_seeker_of(next)->follows = false;
}

/*
 * Behind our own release, on the same connections, a plain attempt is as polite as one that looks
 * into the queue, and much cheaper for the nodes: the release that is carried out right before it
 * says whether others wait, and where they do the grant is not counted but taken back. Where they
 * are known to wait that would only get in their way.
 */
bool rl_may_follow(const struct rl_engine *engine, const struct rl_handle *handle,
                   int64_t now_ns)
{
    const struct rl_claim *claim = handle->claim;

    return rl_seeker_of(handle)->follows && rl_kind(claim->kind)->single &&
           claim->name_count == 1 && !rl_is_courteous(engine, handle, now_ns);
}

void rl_note_given_back(struct rl_engine *engine, uint8_t node,
                        const struct rl_pending *request, const struct rl_answer *answer)
{
    const struct rl_claim *claim = request->subject;
    struct rl_line *line = rl_line_find(&engine->lines, rl_claim_key(claim));
    uint16_t bit = (uint16_t)(1u << node);
    bool nobody;

    if (!line || (request->op != RL_OP_RELEASE && request->op != RL_OP_WAITERS))
        return;
    /* A server that deletes by itself says nothing of waiters: that is asked behind it. */
    if (request->op == RL_OP_WAITERS)
        nobody = answer->vote == REDLOCK_VOTE_MISSING;
    else
        nobody =
            request->by_script && answer->vote == REDLOCK_VOTE_GRANTED && !answer->contended;
    line->unwaited = (uint16_t)(nobody ? line->unwaited | bit : line->unwaited & ~bit);
}

bool rl_is_out_of_turn(const struct rl_claim *claim, uint8_t node)
{
    const struct rl_line *line;

    /* Once the lock is held, what comes late only adds to it. */
    if (!claim->follows || !claim->handle || claim->handle->lock.state != RL_ACQUIRING)
        return false;
    line = rl_line_of(claim->handle);
    if (!RL_RULE(OUT_OF_TURN))
        return false;
    return !line || !(line->unwaited & (1u << node));
}

uint32_t rl_handle_position(const struct rl_handle *handle)
{
    const struct rl_line *line = rl_line_of(handle);
    uint32_t ahead = 0;
    uint32_t place;

    if (!line)
        return 0;
    for (const struct rl_handle *at = handle; at != line->first;
         at = rl_seeker_of(at)->line_previous)
        ahead++;
    place = line->first->lock.pursuit->place;
    return ahead > 0 && place == 0 ? ahead + 1 : ahead + place;
}

void rl_be_courteous(struct rl_engine *engine, const struct rl_claim *claim, int64_t now_ns)
{
    uint64_t hash = rl_line_hash(rl_claim_key(claim));

    engine->courtesy[hash % RL_COURTESIES] = (struct rl_courtesy){hash, now_ns + COURTESY_NS};
}

bool rl_is_courteous(const struct rl_engine *engine, const struct rl_handle *handle,
                     int64_t now_ns)
{
    uint64_t hash = rl_line_hash(rl_claim_key(handle->claim));
    const struct rl_courtesy *courtesy = &engine->courtesy[hash % RL_COURTESIES];

    return courtesy->hash == hash && now_ns < courtesy->until_ns;
}
