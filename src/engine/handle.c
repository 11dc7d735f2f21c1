/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/handle.h"

#include <string.h>

#include "core/kind.h"
#include "core/rules.h"
#include "engine/engine.h"
#include "engine/receive.h"
#include "engine/send.h"
#include "engine/stats.h"
#include "engine/survey.h"
#include "engine/trace.h"
#include "protocol/value.h"

#define PENDING_ACQUIRES_KEPT 1024

/* ---- news for the owner ---- */

void rl_engine_add_ready(struct rl_engine *engine, struct rl_handle *handle)
{
    if (handle->ready)
        return;
    handle->ready = true;
    engine->ready_count++;
    TAILQ_INSERT_TAIL(&engine->ready, handle, in_ready);
}

void rl_engine_remove_ready(struct rl_engine *engine, struct rl_handle *handle)
{
    handle->ready = false;
    engine->ready_count--;
    TAILQ_REMOVE(&engine->ready, handle, in_ready);
}

/* Count nodes we could not send to as unreachable. */
static void answer_unsent(struct rl_engine *engine, struct rl_handle *handle,
                          const struct rl_send *send, uint16_t unsent, int64_t now_ns)
{
    if (send->op == RL_OP_ROLLBACK || send->op == RL_OP_QUIT || send->op == RL_OP_LEAVE ||
        send->op == RL_OP_REPAIR)
        return;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_event event = {
            .type = RL_EVENT_ANSWER,
            .now_ns = now_ns,
            .node = i,
            .op = send->op,
            .round = send->round,
        };

        if (!(unsent & (1u << i)))
            continue;
        event.answer = rl_vote_when_unreachable(engine, i);
        rl_handle_step(engine, handle, &event);
    }
}

/* The core's part is left to rl_lock_init(). NULL: out of memory. */
static struct rl_pending_acquire *new_pending_acquire(struct rl_engine *engine,
                                                      struct rl_handle *handle,
                                                      const struct rl_about *about)
{
    struct rl_pending_acquire *acquire = rl_pool_take(&engine->pending_acquires);

    if (!acquire)
        acquire = malloc(sizeof *acquire);
    if (!acquire)
        return NULL;
    acquire->handle = handle;
    acquire->survey = NULL;
    acquire->queue = NULL;
    acquire->waiter = 0;
    acquire->wants_place = false;
    acquire->reported_place = 0;
    acquire->became_head = acquire->client_holds = acquire->behind_release = false;
    acquire->drew = false;
    acquire->tag_size = (uint8_t)about->tag.size;
    acquire->label_size = (uint8_t)about->label.size;
    memcpy(acquire->tag, about->tag.data, about->tag.size);
    memcpy(acquire->label, about->label.data, about->label.size);
    acquire->current_holder.nodes = 0;
    acquire->current_holder.size = 0;
    acquire->current_holder.waiters = 0;
    return acquire;
}

/* Held, or given up: the memory is for the next acquisition. */
static void end_acquisition(struct rl_engine *engine, struct rl_handle *handle)
{
    rl_pool_give(&engine->pending_acquires, rl_pending_acquire_of(handle),
                 PENDING_ACQUIRES_KEPT);
    handle->lock.acquisition = NULL;
}

void rl_handle_step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    struct rl_lock past = handle->lock;
    int64_t now_ns = event->now_ns;
    struct rl_node_vote votes[REDLOCK_NODES_MAX];
    struct rl_actions actions;
    uint16_t unsent[RL_SENDS_MAX];

    /* Randomness only spreads attempts: a lock that is held makes none. */
    if (acquire)
        event->random = engine->random(engine->random_data);
    event->awaits_sets = engine->awaits_sets;
    if (engine->trace)
        memcpy(votes, handle->lock.node, engine->policy.node_count * sizeof *votes);
    rl_lock_step(&handle->lock, event, &actions);
    if (engine->trace)
        rl_trace_step(engine, handle, &past, votes, event, &actions);
    rl_stats_step(&engine->stats, handle, &past, event, &actions);
    for (uint32_t i = 0; i < actions.send_count; i++)
        unsent[i] = rl_send_to_nodes(engine, handle, &actions.send[i], now_ns);
    if (actions.done) {
        handle->done = true;
        handle->done_error = (int8_t)(actions.done_error != REDLOCK_OK && handle->prepare_error
                                          ? handle->prepare_error
                                          : actions.done_error);
    }
    handle->lost |= actions.lost;
    handle->jeopardy |= actions.jeopardy;
    handle->recovered |= actions.recovered;
    if (actions.done || actions.lost || actions.jeopardy || actions.recovered)
        rl_engine_add_ready(engine, handle);
    rl_timers_set(&engine->timers, &handle->timer,
                  acquire && acquire->became_head ? now_ns : rl_lock_timer_ns(&handle->lock));
    if (acquire) {
        engine->wants_subscribers |=
            acquire->acquisition.ticket != 0 || handle->lock.state == RL_TICKETING;
        if (acquire->queue && (handle->lock.state == RL_HELD || handle->lock.state == RL_ENDED))
            rl_local_queue_leave(engine, handle, now_ns);
        else if (acquire->queue &&
                 (handle->lock.state == RL_QUEUED || handle->lock.state == RL_PARKED))
            rl_local_queue_report_places(engine, handle, now_ns);
        if (handle->lock.state == RL_HELD)
            end_acquisition(engine, handle);
    }
    for (uint32_t i = 0; i < actions.send_count; i++)
        if (unsent[i])
            answer_unsent(engine, handle, &actions.send[i], unsent[i], now_ns);
}

/* ---- what the owner requests ---- */

int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle,
                   const struct rl_about *about, const struct rl_lock_terms *terms,
                   struct rl_node_vote *votes)
{
    size_t value_max =
        rl_value_size(rl_kinds[terms->kind].has_slots, about->tag.size, about->label.size);
    struct rl_pending_acquire *acquire;

    if (!rl_timers_reserve(&engine->timers, engine->handle_count + 1))
        return -1;
    acquire = new_pending_acquire(engine, handle, about);
    if (!acquire)
        return -1;
    *handle = (struct rl_handle){
        .attempt = rl_attempt_new(&engine->attempts, about, value_max, handle),
    };
    if (!handle->attempt) {
        rl_pool_give(&engine->pending_acquires, acquire, PENDING_ACQUIRES_KEPT);
        return -1;
    }
    handle->attempt->kind = terms->kind;
    rl_lock_init(&handle->lock, &engine->policy, terms, votes, &acquire->acquisition);
    LIST_INSERT_HEAD(&engine->handles, handle, all);
    engine->handle_count++;
    return 0;
}

void rl_handles_step(struct rl_engine *engine, const struct rl_event *event, bool of_attempts)
{
    struct rl_handle *handle;

    LIST_FOREACH (handle, &engine->handles, all) {
        enum rl_state state = handle->lock.state;
        struct rl_event copy = *event;

        if (!rl_survey_of(handle) &&
            (!of_attempts || state == RL_ACQUIRING || state == RL_ALIGNING))
            rl_handle_step(engine, handle, &copy);
    }
}

void rl_handle_acquire(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                       int64_t wait_deadline_ns, int64_t now_ns)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    const struct rl_kind *kind = &rl_kinds[handle->lock.terms.kind];
    struct rl_event event = {
        .type = RL_EVENT_ACQUIRE,
        .now_ns = now_ns,
        .ttl_ns = ttl_ns,
        .wait_deadline_ns = wait_deadline_ns,
    };

    acquire->requested_ns = now_ns;
    if (wait_deadline_ns) {
        /* An owner that holds the lock already must not stand behind a waiter for it. */
        if (!rl_local_queue_join(&engine->local_queues, handle, kind->has_owner)) {
            handle->done = true;
            handle->done_error = REDLOCK_NOMEM;
            rl_engine_add_ready(engine, handle);
            engine->stats.refused_other++;
            return;
        }
        acquire->waiter = acquire->queue->number;
        event.parked = TAILQ_FIRST(&acquire->queue->waiters) != acquire;
        event.yields = kind->single && now_ns < engine->yields_until_ns &&
                       rl_is_yielding(engine, handle, now_ns);
    }
    rl_handle_step(engine, handle, &event);
}

int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size, bool knows_kind)
{
    struct rl_attempt *attempt;

    if (rl_handle_renew_attempt(engine, handle, size) < 0)
        return -1;
    attempt = handle->attempt;
    attempt->kind_unknown = !knows_kind;
    rl_attempt_set_value(attempt, value, size);
    /* Where and until when the other process set it is unknown: everywhere, for ever. */
    attempt->touched = UINT16_MAX;
    attempt->expired_by_ns = RL_NEVER_NS;
    rl_lock_adopt(&handle->lock);
    end_acquisition(engine, handle);
    engine->stats.adopted++;
    engine->stats.held++;
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
    if (engine->local_queues.count)
        rl_local_queue_hand_over(engine, handle, now_ns);
}

void rl_handle_cancel(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    rl_handle_step(engine, handle,
                   &(struct rl_event){.type = RL_EVENT_CANCEL, .now_ns = now_ns});
}

int rl_handle_hand_out(struct rl_engine *engine, struct rl_handle *handle,
                       int64_t wait_deadline_ns, int64_t now_ns)
{
    const struct rl_lock *lock = &handle->lock;
    bool is_late = wait_deadline_ns && now_ns > wait_deadline_ns;

    if (!RL_RULE(HANDED_OUT_IN_TIME))
        return REDLOCK_OK;
    if (lock->state == RL_HELD && !rl_hold_is_over(lock, now_ns) && !is_late)
        return REDLOCK_OK;
    rl_handle_take_back(engine, handle, now_ns);
    return REDLOCK_TIMEOUT;
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
    const struct rl_lock *lock = &handle->lock;

    if (give_up && !rl_survey_of(handle)) {
        if (lock->state == RL_HELD)
            rl_handle_release(engine, handle, now_ns);
        else
            rl_handle_cancel(engine, handle, now_ns);
    }
    rl_stats_drop(&engine->stats, lock, now_ns);
    if (lock->acquisition) {
        if (rl_pending_acquire_of(handle)->queue)
            rl_local_queue_leave(engine, handle, now_ns);
        end_acquisition(engine, handle);
    }
    if (handle->ready)
        rl_engine_remove_ready(engine, handle);
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    handle->attempt->handle = NULL;
    rl_attempt_unref(&engine->attempts, handle->attempt);
    handle->attempt = NULL;
    LIST_REMOVE(handle, all);
    engine->handle_count--;
}
