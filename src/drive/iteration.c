/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <sched.h>

#include "io/clock.h"

#define UNARMED_WAIT_MS 10

/* ---- what became of locks: events for their owners, outcomes for blocked callers ---- */

static _Thread_local bool is_notifying;

bool rl_is_notifying(void)
{
    return is_notifying;
}

/* Runs without the mutex, which is held before and after. */
static void notify(redlock *client, const redlock_lock *lock)
{
    if (!client->notify || atomic_load(&lock->is_freed))
        return;
    client->notified = lock;
    pthread_mutex_unlock(&client->mutex);
    is_notifying = true;
    client->notify(lock->data);
    is_notifying = false;
    pthread_mutex_lock(&client->mutex);
    client->notified = NULL;
    pthread_cond_broadcast(&client->driver_cond);
}

/* The place of a waiter, unless its acquisition is decided. */
static void post_place(redlock *client, redlock_lock *lock)
{
    lock->handle.placed = false;
    if (lock->operation == RL_ACQUISITION && !lock->blocks && !lock->handle.done) {
        lock->unread.place = rl_pending_acquire_of(&lock->handle)->reported_place;
        rl_event_add(client, lock, REDLOCK_EVENT_QUEUED);
    }
}

static enum redlock_event_type type_of(enum rl_operation operation)
{
    if (operation == RL_ACQUISITION)
        return REDLOCK_EVENT_ACQUIRED;
    return operation == RL_EXTENSION ? REDLOCK_EVENT_EXTENDED : REDLOCK_EVENT_RELEASED;
}

static void post_outcome(redlock *client, redlock_lock *lock)
{
    enum rl_operation operation = lock->operation;
    int error = lock->given_up ? REDLOCK_CANCELED : lock->handle.done_error;
    struct rl_call *call;

    lock->handle.done = false;
    if (operation == RL_NO_OPERATION)
        return;
    if (!lock->blocks) {
        lock->unread.outcome = (int8_t)error;
        rl_event_add(client, lock, type_of(operation));
        return;
    }
    lock->operation = RL_NO_OPERATION;
    lock->released |= operation == RL_RELEASE && error == REDLOCK_OK;
    lock->adopted |=
        operation == RL_ACQUISITION && error == REDLOCK_OK && lock->handle.lock.terms.keep;
    call = lock->call;
    lock->call = NULL;
    if (!call)
        return;
    if (operation == RL_ACQUISITION && !error) {
        atomic_store_explicit(&lock->is_returning, true, memory_order_relaxed);
        call->deadline_ns = lock->handle.lock.deadline_ns;
    }
    rl_call_finish(call, error);
}

/* An acquisition that the owner has not learnt of holds nothing that could be lost (A9). */
static bool is_known_to_owner(const redlock_lock *lock)
{
    return lock->operation != RL_ACQUISITION;
}

/* A failed renewal, or one that succeeded again; the later of the two if both happened. */
static void post_jeopardy(redlock *client, redlock_lock *lock)
{
    const struct rl_lock *core = &lock->handle.lock;

    lock->handle.jeopardy = lock->handle.recovered = false;
    /* A loss replaces the jeopardy that led to it. */
    if (lock->handle.lost)
        return;
    lock->unread.jeopardy = core->jeopardy_error;
    rl_event_add(client, lock,
                 core->jeopardy ? REDLOCK_EVENT_JEOPARDY : REDLOCK_EVENT_RECOVERED);
    if (core->jeopardy && is_known_to_owner(lock))
        notify(client, lock);
}

static void post_loss(redlock *client, redlock_lock *lock)
{
    lock->handle.lost = false;
    if (!is_known_to_owner(lock))
        return;
    rl_event_add(client, lock, REDLOCK_EVENT_LOST);
    notify(client, lock);
}

static void post(redlock *client, redlock_lock *lock)
{
    if (lock->operation == RL_JOB) {
        bool done = lock->handle.done;

        lock->handle.done = false;
        if (done)
            rl_job_advance(client, lock, lock->handle.done_error);
        return;
    }
    if (lock->handle.placed)
        post_place(client, lock);
    /* The outcome of an acquisition comes before a loss of the same lock. */
    if (lock->handle.done && lock->operation == RL_ACQUISITION)
        post_outcome(client, lock);
    if (lock->handle.jeopardy || lock->handle.recovered)
        post_jeopardy(client, lock);
    if (lock->handle.lost)
        post_loss(client, lock);
    if (lock->handle.done)
        post_outcome(client, lock);
}

static void post_all(redlock *client)
{
    struct rl_handle *handle;
    uint32_t left;

    rl_warn_of_findings(client);
    /* No more than were ready when this began: notify lets other threads start something. */
    left = client->engine.ready_count;
    for (; left > 0 && (handle = TAILQ_FIRST(&client->engine.ready)) != NULL; left--) {
        rl_engine_remove_ready(&client->engine, handle);
        post(client, (redlock_lock *)handle);
    }
    client->jobs.has_news = false;
    if (rl_events_waiting(client) == 0)
        return;
    /* A caller of redlock_next() may be waiting for the end of another thread's driving. */
    pthread_cond_broadcast(&client->driver_cond);
    if (!client->is_read)
        rl_reader_ring(client->reader);
}

/* ---- one iteration ---- */

/*
 * No driver: ring the bell so redlock_fd() becomes readable. A member of several quorums needs
 * no bell; the thread that drives its siblings polls its descriptor.
 */
void rl_wake(redlock *client)
{
    if (!client->threaded && !client->is_shared && !atomic_load(&client->has_driver))
        rl_reader_ring(client->reader);
    /* A driver that is awake carries out and sends everything before it sleeps again. */
    else if (atomic_exchange(&client->dozing, false))
        rl_reactor_wake(&client->reactor);
    else if (client->threaded && !atomic_load(&client->has_driver))
        rl_thread_summon(client);
}

/*
 * One write per node for everything that this iteration produced, and the timer for what is due
 * next. Returns when it began.
 */
static int64_t send_all(redlock *client)
{
    int64_t now_ns = rl_now_ns();
    int64_t next_ns;

    rl_entropy_forget(&client->entropy);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_flush(&client->conn[i], now_ns);
        rl_conn_flush(&client->subscriber[i], now_ns);
    }
    for (uint32_t i = 0; i < client->elector_count; i++)
        rl_conn_flush(&client->elector[i], now_ns);
    next_ns = rl_engine_next_ns(&client->engine);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        int64_t due_ns = rl_link_due_ns(&client->conn[i].link);
        int64_t subscriber_ns = rl_link_due_ns(&client->subscriber[i].link);

        if (due_ns < next_ns)
            next_ns = due_ns;
        if (subscriber_ns < next_ns)
            next_ns = subscriber_ns;
    }
    for (uint32_t i = 0; i < client->elector_count; i++) {
        int64_t due_ns = rl_link_due_ns(&client->elector[i].link);

        if (due_ns < next_ns)
            next_ns = due_ns;
    }
    for (int i = 0; i < 2; i++) {
        const struct rl_secret *secret = i ? &client->sentinel_password : &client->password;

        if (rl_secret_due_ns(secret) < next_ns)
            next_ns = rl_secret_due_ns(secret);
    }
    rl_reactor_arm(&client->reactor, next_ns);
    if (client->engine.trace)
        rl_trace_flush(client->engine.trace);
    return now_ns;
}

static void tick_conn(struct rl_conn *conn, int64_t now_ns)
{
    if (conn->state == RL_CONN_ELECTING || conn->state == RL_CONN_RESOLVING ||
        now_ns >= rl_link_due_ns(&conn->link))
        rl_conn_tick(conn, now_ns);
    if (conn->secret)
        rl_conn_log_in(conn, now_ns);
}

/* The conn of an elector, by what the reactor calls it; NULL: it is none. */
static struct rl_conn *find_elector(const redlock *client, uint32_t tag)
{
    for (uint32_t i = 0; i < client->elector_count; i++)
        if (rl_conn_tag(&client->elector[i]) == tag)
            return &client->elector[i];
    return NULL;
}

void rl_tick(redlock *client, int64_t now_ns)
{
    rl_secret_tick(&client->password, now_ns);
    rl_secret_tick(&client->sentinel_password, now_ns);
    for (uint32_t i = 0; i < client->elector_count; i++)
        tick_conn(&client->elector[i], now_ns);
    for (uint32_t i = 0; i < 2u * client->engine.policy.node_count; i++)
        tick_conn(i % 2 ? &client->subscriber[i / 2] : &client->conn[i / 2], now_ns);
    rl_engine_tick(&client->engine, now_ns);
}

/* Waits from begun_ns on, without the mutex, and handles what the sockets have. */
static void serve_sockets(redlock *client, int64_t begun_ns, int timeout_ms)
{
    struct epoll_event events[RL_REACTOR_EVENTS_MAX];
    /*
     * A client that is being closed has only itself left, and without a timer it must look
     * often.
     */
    bool waits_for_all =
        client->is_shared && timeout_ms != 0 && !client->closing && !client->reactor.unarmed;
    int64_t now_ns;
    int count;

    /* Nothing would wake the driver for a deadline: it looks at the clock instead. */
    if (client->reactor.unarmed && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    /*
     * A thread that puts a submission into the inbox after this store wakes us, and so does one
     * that gets the mutex.
     */
    atomic_store(&client->dozing, true);
    if (atomic_load(&client->inbox))
        timeout_ms = 0;
    pthread_mutex_unlock(&client->mutex);
    count = waits_for_all ? rl_members_wait(client, events, timeout_ms)
                          : rl_reactor_wait(&client->reactor, events, timeout_ms);
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    /*
     * A request that was started, not put into the inbox, wakes the I/O thread, often on the
     * core of its caller. Where that is starting many, each would be sent alone: let it go on
     * first.
     */
    if (client->threaded && count == 1 && events[0].data.u32 == RL_REACTOR_WAKE &&
        !atomic_load(&client->inbox))
        sched_yield();
    pthread_mutex_lock(&client->mutex);
    now_ns = rl_now_ns();
    client->engine.unwatched_ns = begun_ns - client->polled_ns;
    client->polled_ns = now_ns;
    client->was_interrupted = count < 0;
    for (int i = 0; i < count; i++) {
        uint32_t tag = events[i].data.u32;
        struct rl_conn *elector = tag >= RL_REACTOR_ELECTOR ? find_elector(client, tag) : NULL;

        if (tag == RL_REACTOR_TIMER)
            client->reactor.armed_ns = RL_NEVER_NS;
        else if (tag == RL_REACTOR_THREAD)
            rl_release_bound(client, now_ns);
        else if (tag < client->engine.policy.node_count)
            rl_conn_ready(&client->conn[tag], events[i].events, now_ns);
        else if (tag - RL_REACTOR_SUBSCRIBER < client->engine.policy.node_count)
            rl_conn_ready(&client->subscriber[tag - RL_REACTOR_SUBSCRIBER], events[i].events,
                          now_ns);
        else if (elector)
            rl_conn_ready(elector, events[i].events, now_ns);
    }
}

static int64_t flush(redlock *client)
{
    rl_submissions_carry_out(client);
    return send_all(client);
}

/* Has anything happened that is no event yet, or of which no event was announced? */
static bool has_news(const redlock *client)
{
    return !TAILQ_EMPTY(&client->engine.ready) || client->jobs.has_news;
}

void rl_flush(redlock *client)
{
    flush(client);
    /* On nodes that are all down what was started has its outcome at once. */
    if (has_news(client))
        rl_wake(client);
}

void rl_iterate(redlock *client, int timeout_ms)
{
    int64_t begun_ns;

    client->has_driver = true;
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    begun_ns = flush(client);
    /*
     * Sockets before timers: after a pause of the caller, replies may be waiting that came in
     * time, and a node that has long answered must not be taken for a silent one.
     */
    serve_sockets(client, begun_ns, has_news(client) ? 0 : timeout_ms);
    rl_tick(client, rl_now_ns());
    post_all(client);
    flush(client);
    client->has_driver = false;
    /*
     * Until the next iteration of a member no thread looks: submissions for it make its
     * descriptor readable.
     */
    if (client->is_shared)
        atomic_store(&client->dozing, true);
    if (!client->threaded &&
        (has_news(client) || (client->is_shared && atomic_load(&client->inbox))))
        rl_wake(client);
}
