/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/deliver.h"

#include <unistd.h>

#include "drive/doubts.h"
#include "drive/enter.h"
#include "drive/explain.h"
#include "drive/handles.h"
#include "io/clock.h"

bool rl_is_too_late(int64_t wait_deadline_ns)
{
    return wait_deadline_ns > 0 && wait_deadline_ns != RL_NEVER_NS &&
           rl_now_ns() > wait_deadline_ns;
}

void rl_run_callback(redlock *client, redlock_lock *lock, redlock_done_fn *function, int error,
                     void *data)
{
    struct rl_frame frame;

    lock->in_callback = true;
    pthread_mutex_unlock(&client->mutex);
    rl_frame_enter(&frame, client);
    function(lock, error, data);
    rl_frame_leave(&frame);
    pthread_mutex_lock(&client->mutex);
    lock->in_callback = false;
}

static void signal_event(redlock_lock *lock)
{
    uint64_t one = 1;

    /* Full means that it is readable already. */
    if (lock->event_fd >= 0 && write(lock->event_fd, &one, sizeof one) < 0)
        return;
}

/* A failed renewal, or one that succeeded again; the later of the two if both happened. */
static int deliver_jeopardy(redlock *client, redlock_lock *lock, bool lost)
{
    const struct rl_lock *core = &lock->handle.lock;
    int error = core->jeopardy ? core->jeopardy_error : REDLOCK_OK;

    lock->handle.jeopardy = lock->handle.recovered = false;
    signal_event(lock);
    /* A loss replaces the jeopardy that led to it. */
    if (!lock->jeopardy || lost || lock->doomed)
        return 0;
    rl_explain(lock, RL_EXTENSION, error);
    rl_run_callback(client, lock, lock->jeopardy, error, lock->lost_data);
    return 1;
}

/* The place of a waiter. Once its acquisition is decided, it says nothing any more. */
static int deliver_place(redlock *client, redlock_lock *lock)
{
    const struct rl_acquirer *acquirer = rl_acquirer_of(&lock->handle);

    lock->handle.placed = false;
    if (!acquirer || lock->operation != RL_ACQUISITION || lock->handle.done || lock->doomed ||
        lock->given_up)
        return 0;
    rl_run_callback(client, lock, acquirer->queued, (int)acquirer->told_place, lock->lost_data);
    return 1;
}

static int deliver_lost(redlock *client, redlock_lock *lock, enum rl_operation operation)
{
    signal_event(lock);
    if (!lock->lost || lock->doomed)
        return 0;
    rl_explain(lock, operation, REDLOCK_LOST);
    rl_run_callback(client, lock, lock->lost, REDLOCK_LOST, lock->lost_data);
    return 1;
}

/*
 * A9, for `done`: the last look at the clock. If the wait is over, the lock is taken back, and its
 * owner learns nothing of what happened to it meanwhile.
 */
static int last_look(redlock *client, redlock_lock *lock, int error)
{
    int64_t deadline_ns = lock->wait_deadline_ns;

    lock->wait_deadline_ns = 0;
    if (error || !rl_is_too_late(deadline_ns))
        return error;
    rl_handle_take_back(&client->engine, &lock->handle, rl_now_ns());
    return REDLOCK_TIMEOUT;
}

static int deliver_done(redlock *client, redlock_lock *lock, enum rl_operation operation,
                        int error)
{
    bool calls_later = !error && operation == RL_ACQUISITION && (lock->lost || lock->jeopardy);
    struct rl_call *call = lock->done ? NULL : lock->call;

    if (operation == RL_NO_OPERATION || lock->doomed)
        return 0;
    lock->operation = calls_later && !lock->done ? RL_RETURNING : RL_NO_OPERATION;
    lock->released |= operation == RL_RELEASE && error == REDLOCK_OK;
    lock->adopted |=
        operation == RL_ACQUISITION && error == REDLOCK_OK && lock->handle.lock.terms.keep;
    if (!lock->done) {
        lock->call = NULL;
        if (call)
            rl_call_finish(call, error);
        return 0;
    }
    rl_explain(lock, operation, error);
    rl_run_callback(client, lock, lock->done, error, lock->done_data);
    return 1;
}

/* Brings one handle's news to its owner; the number of callbacks that ran. */
static int deliver(redlock *client, redlock_lock *lock)
{
    bool done = lock->handle.done;
    bool lost;
    int error = lock->given_up ? REDLOCK_CANCELED : lock->handle.done_error;
    enum rl_operation operation = lock->operation;
    int count = lock->handle.placed ? deliver_place(client, lock) : 0;

    lock->handle.done = false;
    if (operation == RL_QUESTION) {
        if (done)
            rl_question_hear(client, lock, error);
        return 0;
    }
    /* The outcome of an acquisition comes before a loss of the same lock. */
    if (done && operation == RL_ACQUISITION) {
        if (lock->done && !lock->doomed)
            error = last_look(client, lock, error);
        count += deliver_done(client, lock, operation, error);
        done = false;
    }
    if (lock->operation != RL_RETURNING) {
        lost = lock->handle.lost;
        lock->handle.lost = false;
        if (lock->handle.jeopardy || lock->handle.recovered)
            count += deliver_jeopardy(client, lock, lost);
        if (lost)
            count += deliver_lost(client, lock, operation);
    }
    if (done)
        count += deliver_done(client, lock, operation, error);
    if (lock->doomed)
        rl_lock_discard(client, lock, true);
    return count;
}

int rl_deliver_all(redlock *client)
{
    struct rl_handle *handle;
    uint32_t left;
    int count = 0;

    /* First: what is granted may be acted on at once. */
    if (client->warn)
        count += rl_tell_doubts(client);
    left = client->engine.ready_count;
    /*
     * No more than were ready when this began: a callback that starts again, on nodes that are all
     * down, has the outcome at once, and would keep the driver here for ever.
     */
    for (; left > 0 && (handle = rl_engine_take_ready(&client->engine)) != NULL; left--)
        count += deliver(client, (redlock_lock *)handle);
    if (!TAILQ_EMPTY(&client->questions.finished))
        count += rl_questions_tell(client);
    if (count > 0)
        pthread_cond_broadcast(&client->turn_cond);
    return count;
}
