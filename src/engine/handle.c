/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks: from what their owner asks, answers and timers to the next step, and its outcome. */
#include "core/kind.h"
#include "engine/engine.h"

/* ---- news for the owner ---- */

void rl_engine_tell(struct rl_engine *engine, struct rl_handle *handle)
{
    if (handle->ready)
        return;
    handle->ready = true;
    handle->ready_next = NULL;
    handle->ready_previous = engine->ready_last;
    if (engine->ready_last)
        engine->ready_last->ready_next = handle;
    else
        engine->ready_first = handle;
    engine->ready_last = handle;
}

void rl_engine_forget_ready(struct rl_engine *engine, struct rl_handle *handle)
{
    if (!handle->ready)
        return;
    handle->ready = false;
    if (handle->ready_previous)
        handle->ready_previous->ready_next = handle->ready_next;
    else
        engine->ready_first = handle->ready_next;
    if (handle->ready_next)
        handle->ready_next->ready_previous = handle->ready_previous;
    else
        engine->ready_last = handle->ready_previous;
}

struct rl_handle *rl_engine_take_ready(struct rl_engine *engine)
{
    struct rl_handle *handle = engine->ready_first;

    if (handle)
        rl_engine_forget_ready(engine, handle);
    return handle;
}

/* Nodes that could not be asked have voted: they are unreachable, and the lock is told. */
static void answer_refused(struct rl_engine *engine, struct rl_handle *handle,
                           const struct rl_send *send, uint16_t refused, int64_t now_ns)
{
    if (send->op == RL_OP_ROLLBACK || send->op == RL_OP_QUIT || send->op == RL_OP_LEAVE ||
        send->op == RL_OP_HEAL)
        return;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_event event = {
            .type = RL_EVENT_ANSWER,
            .now_ns = now_ns,
            .node = i,
            .op = send->op,
            .round = send->round,
        };

        if (!(refused & (1u << i)))
            continue;
        event.answer = rl_node_excuse(engine, i);
        rl_handle_step(engine, handle, &event);
    }
}

static bool has_turn(const struct rl_handle *handle)
{
    return handle->lock.pursuit && rl_seeker_of(handle)->turn;
}

static bool is_waiting(const struct rl_lock *lock)
{
    switch (lock->state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
    case RL_BACKOFF:
    case RL_PARKED:
    case RL_TICKETING:
    case RL_QUEUED:
        return true;
    default:
        return false;
    }
}

/* Held, or given up: what it took is for the next one. */
static void end_pursuit(struct rl_engine *engine, struct rl_handle *handle)
{
    rl_seeker_give_back(&engine->seekers, rl_seeker_of(handle));
    handle->lock.pursuit = NULL;
}

static void pursue(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_seeker *seeker = rl_seeker_of(handle);

    if (seeker->line && !is_waiting(&handle->lock))
        rl_leave_line(engine, handle, now_ns);
    engine->listening |= seeker->pursuit.ticket != 0 || handle->lock.state == RL_TICKETING;
    if (handle->lock.state == RL_HELD)
        end_pursuit(engine, handle);
}

static void note_news(struct rl_engine *engine, struct rl_handle *handle,
                      const struct rl_actions *actions)
{
    if (actions->done) {
        handle->done = true;
        handle->done_error = (int8_t)actions->done_error;
        if (actions->done_error != REDLOCK_OK && handle->prepare_error)
            handle->done_error = handle->prepare_error;
    }
    handle->lost |= actions->lost;
    handle->jeopardy |= actions->jeopardy;
    handle->recovered |= actions->recovered;
    rl_engine_tell(engine, handle);
}

static void perform(struct rl_engine *engine, struct rl_handle *handle,
                    const struct rl_actions *actions, int64_t now_ns)
{
    uint16_t refused[RL_SENDS_MAX];

    for (uint32_t i = 0; i < actions->send_count; i++)
        refused[i] = rl_send_to_nodes(engine, handle, &actions->send[i], now_ns);
    if (actions->done || actions->lost || actions->jeopardy || actions->recovered)
        note_news(engine, handle, actions);
    rl_timers_set(&engine->timers, &handle->timer,
                  has_turn(handle) ? now_ns : rl_lock_timer_ns(&handle->lock));
    if (handle->lock.pursuit)
        pursue(engine, handle, now_ns);
    for (uint32_t i = 0; i < actions->send_count; i++)
        if (refused[i])
            answer_refused(engine, handle, &actions->send[i], refused[i], now_ns);
}

void rl_handle_step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event)
{
    struct rl_actions actions;

    /* Randomness only spreads attempts; it is drawn where one can be decided. */
    if (is_waiting(&handle->lock) || rl_kind(handle->lock.terms.kind)->has_slots)
        engine->random(engine->random_data, &event->random, sizeof event->random);
    rl_lock_step(&handle->lock, event, &actions);
    perform(engine, handle, &actions, event->now_ns);
}

/* ---- what comes back ---- */

void rl_handle_answer(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                      const struct rl_pending *request, const struct rl_reply *reply,
                      const struct rl_answer *answer, int64_t now_ns)
{
    struct rl_handle *handle = claim->handle;
    struct rl_survey *survey = handle ? rl_survey_of(handle) : NULL;
    enum rl_op op = (enum rl_op)request->op;

    if (rl_outlives_its_handle(op)) {
        rl_tell_waiters(engine, claim, node, op, answer, now_ns);
        rl_note_given_back(engine, node, request, answer);
    }
    if (rl_outlives_its_handle(op) && op != RL_OP_RELEASE)
        return;
    if (!handle)
        return;
    if (survey) {
        /* A late answer to a question that is over says nothing about the next one. */
        if (request->round == handle->lock.round && !rl_survey_complete(survey))
            rl_question_answer(engine, handle, node, op, reply, *answer, now_ns);
        return;
    }
    rl_handle_step(engine, handle,
                   &(struct rl_event){
                       .type = RL_EVENT_ANSWER,
                       .now_ns = now_ns,
                       .node = node,
                       .op = op,
                       .round = request->round,
                       .answer = *answer,
                   });
}

static void find_warming(const struct rl_engine *engine, int64_t now_ns, uint16_t *nodes,
                         int64_t *until_ns)
{
    *nodes = 0;
    *until_ns = now_ns + engine->policy.node_timeout_ns;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];
        int64_t ready_ns = node->connected_ns + engine->policy.node_timeout_ns;

        if (!node->warming || (node->connected && now_ns >= ready_ns))
            continue;
        *nodes |= (uint16_t)(1u << i);
        if (node->connected && ready_ns < *until_ns)
            *until_ns = ready_ns;
    }
}

void rl_handle_timer(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_event event = {.type = RL_EVENT_TIMER, .now_ns = now_ns};
    const struct rl_line *line = rl_line_of(handle);

    find_warming(engine, now_ns, &event.warming, &event.warm_at_ns);
    if (rl_survey_of(handle)) {
        rl_question_timer(engine, handle, event.warming, event.warm_at_ns, now_ns);
        return;
    }
    if (has_turn(handle)) {
        rl_seeker_of(handle)->turn = false;
        event.type = RL_EVENT_TURN;
        event.held_here = rl_seeker_of(handle)->held_here;
    } else if (line && line->first != handle) {
        event.leader_error = line->first->lock.pursuit->attempt_error;
    }
    rl_handle_step(engine, handle, &event);
}

/* ---- what the owner asks for ---- */

int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle,
                   const struct rl_about *about, const struct rl_lock_terms *terms,
                   struct rl_node_vote *votes)
{
    struct rl_seeker *seeker;

    if (!rl_timers_reserve(&engine->timers, engine->handle_count + 1))
        return -1;
    seeker = rl_seeker_new(&engine->seekers);
    if (!seeker)
        return -1;
    *handle = (struct rl_handle){
        .claim = rl_claim_new(&engine->claims, about, rl_value_max(terms->kind), handle),
    };
    if (!handle->claim) {
        rl_seeker_give_back(&engine->seekers, seeker);
        return -1;
    }
    handle->claim->kind = terms->kind;
    rl_lock_init(&handle->lock, &engine->policy, terms, votes, &seeker->pursuit);
    handle->next = engine->handles;
    if (engine->handles)
        engine->handles->previous = handle;
    engine->handles = handle;
    engine->handle_count++;
    return 0;
}

void rl_handles_node_out(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    for (struct rl_handle *handle = engine->handles; handle; handle = handle->next)
        if (!rl_survey_of(handle))
            rl_handle_step(
                engine, handle,
                &(struct rl_event){.type = RL_EVENT_NODE_OUT, .now_ns = now_ns, .node = node});
}

void rl_handles_abandon(struct rl_engine *engine, int64_t now_ns)
{
    for (struct rl_handle *handle = engine->handles; handle; handle = handle->next)
        if (!rl_survey_of(handle))
            rl_handle_step(engine, handle,
                           &(struct rl_event){.type = RL_EVENT_ABANDON, .now_ns = now_ns});
}

void rl_handle_acquire(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                       int64_t wait_deadline_ns, int64_t now_ns)
{
    struct rl_line *line = NULL;
    bool courteous = false;

    if (wait_deadline_ns) {
        /* Who holds a lock already must not stand behind somebody who waits for it. */
        line =
            rl_line_join(&engine->lines, handle, rl_kind(handle->lock.terms.kind)->has_owner);
        if (!line) {
            handle->done = true;
            handle->done_error = REDLOCK_NOMEM;
            rl_engine_tell(engine, handle);
            return;
        }
        rl_seeker_of(handle)->waiter = rl_line_number(line);
        courteous =
            rl_is_courteous(engine, handle, now_ns) && rl_kind(handle->lock.terms.kind)->single;
    }
    rl_handle_step(engine, handle,
                   &(struct rl_event){
                       .type = RL_EVENT_ACQUIRE,
                       .now_ns = now_ns,
                       .ttl_ns = ttl_ns,
                       .wait_deadline_ns = wait_deadline_ns,
                       .parked = line && line->first != handle,
                       .courteous = courteous,
                   });
}

int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size)
{
    struct rl_claim *claim;

    if (rl_handle_renew_claim(engine, handle, size) < 0)
        return -1;
    claim = handle->claim;
    claim->kind_unknown = true;
    rl_claim_set_value(claim, value, size);
    /* Where and until when the other process set it is unknown: everywhere, for ever. */
    claim->touched = UINT16_MAX;
    claim->gone_ns = RL_NEVER_NS;
    rl_lock_adopt(&handle->lock);
    end_pursuit(engine, handle);
    return 0;
}

void rl_handle_extend(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                      int64_t now_ns)
{
    rl_handle_step(
        engine, handle,
        &(struct rl_event){.type = RL_EVENT_EXTEND, .now_ns = now_ns, .ttl_ns = ttl_ns});
}

void rl_handle_release(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    rl_handle_step(engine, handle,
                   &(struct rl_event){.type = RL_EVENT_RELEASE, .now_ns = now_ns});
    rl_wake_our_own(engine, handle, now_ns);
}

void rl_handle_cancel(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    rl_handle_step(engine, handle,
                   &(struct rl_event){.type = RL_EVENT_CANCEL, .now_ns = now_ns});
}

void rl_handle_take_back(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    rl_handle_step(engine, handle,
                   &(struct rl_event){.type = RL_EVENT_TOO_LATE, .now_ns = now_ns});
    handle->lost = handle->jeopardy = handle->recovered = false;
}

void rl_handle_drop(struct rl_engine *engine, struct rl_handle *handle, bool give_up,
                    int64_t now_ns)
{
    if (!rl_survey_of(handle) && give_up) {
        if (handle->lock.state == RL_HELD)
            rl_handle_release(engine, handle, now_ns);
        else
            rl_handle_cancel(engine, handle, now_ns);
    }
    rl_leave_line(engine, handle, now_ns);
    end_pursuit(engine, handle);
    rl_engine_forget_ready(engine, handle);
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    handle->claim->handle = NULL;
    rl_claim_unref(&engine->claims, handle->claim);
    handle->claim = NULL;
    if (handle->previous)
        handle->previous->next = handle->next;
    else
        engine->handles = handle->next;
    if (handle->next)
        handle->next->previous = handle->previous;
    engine->handle_count--;
}
