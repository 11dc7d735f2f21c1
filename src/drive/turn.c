/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/turn.h"

#include <time.h>
#include <unistd.h>

#include "drive/bound.h"
#include "drive/client.h"
#include "drive/detail.h"
#include "drive/doubts.h"
#include "drive/explain.h"
#include "drive/handles.h"
#include "io/clock.h"

#define UNARMED_WAIT_MS 10

/* ---- news for the owners of handles: outcomes, losses, jeopardy ---- */

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

static int deliver_all(redlock *client)
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
    for (; left > 0 && (handle = TAILQ_FIRST(&client->engine.ready)) != NULL; left--) {
        rl_engine_remove_ready(&client->engine, handle);
        count += deliver(client, (redlock_lock *)handle);
    }
    if (!TAILQ_EMPTY(&client->questions.finished))
        count += rl_questions_tell(client);
    if (count > 0)
        pthread_cond_broadcast(&client->turn_cond);
    return count;
}

/* ---- one turn ---- */

void rl_wake(redlock *client)
{
    /* A driver that is awake carries out and sends everything before it sleeps again. */
    if (atomic_exchange(&client->dozing, false))
        rl_reactor_wake(&client->reactor);
}

/* One write per node for everything that this turn produced, and the timer for what is due next. */
static void send_all(redlock *client)
{
    int64_t now_ns = rl_now_ns();
    int64_t next_ns;

    rl_entropy_forget(&client->entropy);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_flush(&client->conn[i], now_ns);
        rl_conn_flush(&client->subscriber[i], now_ns);
    }
    next_ns = rl_engine_next_ns(&client->engine);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        int64_t due_ns = rl_link_due_ns(&client->conn[i].link);
        int64_t subscriber_ns = rl_link_due_ns(&client->subscriber[i].link);

        if (due_ns < next_ns)
            next_ns = due_ns;
        if (subscriber_ns < next_ns)
            next_ns = subscriber_ns;
    }
    rl_reactor_arm(&client->reactor, next_ns);
}

void rl_tick(redlock *client, int64_t now_ns)
{
    for (uint32_t i = 0; i < 2u * client->engine.policy.node_count; i++) {
        struct rl_conn *conn = i % 2 ? &client->subscriber[i / 2] : &client->conn[i / 2];

        if (conn->state == RL_CONN_RESOLVING || now_ns >= rl_link_due_ns(&conn->link))
            rl_conn_tick(conn, now_ns);
    }
    rl_engine_tick(&client->engine, now_ns);
}

/* Waits without the mutex and handles what the sockets have. */
static void serve_sockets(redlock *client, int timeout_ms)
{
    struct epoll_event events[RL_REACTOR_EVENTS_MAX];
    /*
     * A client that is being closed has only itself left, and without a timer it must look
     * often.
     */
    bool waits_for_all =
        client->wait && timeout_ms != 0 && !client->closing && !client->reactor.unarmed;
    int count;
    int64_t now_ns;

    /* Nothing would wake the driver for a deadline: it looks at the clock instead. */
    if (client->reactor.unarmed && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    /*
     * A thread that puts an order after this store wakes us, and so does one that gets the
     * mutex.
     */
    atomic_store(&client->dozing, true);
    if (atomic_load(&client->inbox))
        timeout_ms = 0;
    pthread_mutex_unlock(&client->mutex);
    count = waits_for_all ? client->wait(client, events, timeout_ms)
                          : rl_reactor_wait(&client->reactor, events, timeout_ms);
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    pthread_mutex_lock(&client->mutex);
    now_ns = rl_now_ns();
    client->turned_ns = now_ns;
    for (int i = 0; i < count; i++) {
        uint32_t tag = events[i].data.u32;

        if (tag == RL_REACTOR_TIMER)
            client->reactor.armed_ns = RL_NEVER_NS;
        else if (tag == RL_REACTOR_THREAD)
            rl_release_bound(client, now_ns);
        else if (tag < client->engine.policy.node_count)
            rl_conn_ready(&client->conn[tag], events[i].events, now_ns);
        else if (tag - RL_REACTOR_SUBSCRIBER < client->engine.policy.node_count)
            rl_conn_ready(&client->subscriber[tag - RL_REACTOR_SUBSCRIBER], events[i].events,
                          now_ns);
    }
}

/* Is there anything to tell that the last delivery has not told? */
static bool has_news(const redlock *client)
{
    return !TAILQ_EMPTY(&client->engine.ready) || !TAILQ_EMPTY(&client->questions.finished);
}

int rl_turn(redlock *client, int timeout_ms)
{
    int count;

    client->turning = true;
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    rl_orders_carry_out(client);
    send_all(client);
    /*
     * Sockets before timers: after a pause of the caller, replies may be waiting that came in
     * time, and a node that has long answered must not be taken for a silent one.
     */
    serve_sockets(client, has_news(client) ? 0 : timeout_ms);
    rl_tick(client, rl_now_ns());
    count = deliver_all(client);
    rl_orders_carry_out(client);
    send_all(client);
    client->turning = false;
    /* Until the next turn no thread looks: what is started makes the descriptor readable. */
    if (!client->threaded) {
        atomic_store(&client->dozing, true);
        if (has_news(client))
            rl_wake(client);
    }
    return count;
}

int rl_client_fd(redlock *client)
{
    int fd;
    int error;

    error = rl_client_enter(client, false);
    if (error)
        return error;
    fd = client->threaded ? rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the thread does the "
                                                     "watching; there is nothing to poll")
                          : client->reactor.epoll_fd;
    atomic_store(&client->driven, true);
    rl_client_leave(client);
    return fd;
}

/* Waits until no thread drives; false when that takes longer than timeout_ms. */
static bool await_turn(redlock *client, int timeout_ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * RL_NS_PER_MS;
    if (end.tv_nsec >= 1000 * RL_NS_PER_MS) {
        end.tv_sec++;
        end.tv_nsec -= 1000 * RL_NS_PER_MS;
    }
    while (client->turning) {
        if (timeout_ms < 0)
            pthread_cond_wait(&client->turn_cond, &client->mutex);
        else if (pthread_cond_timedwait(&client->turn_cond, &client->mutex, &end) != 0)
            return false;
    }
    return true;
}

int rl_client_process(redlock *client, int timeout_ms)
{
    int result;

    result = rl_client_enter(client, true);
    if (result)
        return result;
    if (client->threaded) {
        rl_client_leave(client);
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the thread does the processing");
    }
    atomic_store(&client->driven, true);
    /* A thread blocked in a call may be driving: it does what is due for us as well. */
    if (client->turning && !await_turn(client, timeout_ms)) {
        rl_client_leave(client);
        return 0;
    }
    result = rl_turn(client, timeout_ms);
    rl_stop_driving(client);
    rl_client_leave(client);
    return result;
}
