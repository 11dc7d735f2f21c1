/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving a client: one turn waits, handles what came, runs callbacks, sends what is due. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "client/frame.h"
#include "client/spread.h"
#include "io/clock.h"

void rl_wake(redlock *client)
{
    if (client->threaded) {
        if (atomic_exchange(&client->dozing, false))
            rl_reactor_wake(&client->reactor);
        return;
    }
    /* A driver that is awake sends everything before it sleeps again. */
    if (client->woken || (client->turning && !client->sleeping))
        return;
    client->woken = true;
    rl_reactor_wake(&client->reactor);
}

/* One write per node for everything that this turn produced. */
static void flush(redlock *client, int64_t now_ns)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_flush(&client->conn[i], now_ns);
        rl_conn_flush(&client->ear[i], now_ns);
    }
}

void rl_arm(redlock *client)
{
    int64_t next_ns = rl_engine_next_ns(&client->engine);

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        int64_t conn_ns = rl_conn_next_ns(&client->conn[i]);

        if (conn_ns < next_ns)
            next_ns = conn_ns;
        conn_ns = rl_conn_next_ns(&client->ear[i]);
        if (conn_ns < next_ns)
            next_ns = conn_ns;
    }
    rl_reactor_arm(&client->reactor, next_ns);
}

void rl_send_all(redlock *client)
{
    rl_entropy_forget(&client->entropy);
    flush(client, rl_now_ns());
    rl_arm(client);
}

void rl_send_now(redlock *client)
{
    rl_send_all(client);
    /* What ended at once must be told by the one who makes turns. */
    if (rl_engine_has_ready(&client->engine))
        rl_wake(client);
}

void rl_tick(redlock *client, int64_t now_ns)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_tick(&client->conn[i], now_ns);
        rl_conn_tick(&client->ear[i], now_ns);
    }
    rl_engine_tick(&client->engine, now_ns);
}

void rl_serve_events(redlock *client, const struct epoll_event *events, int count)
{
    int64_t now_ns = rl_now_ns();

    client->turned_ns = now_ns;
    for (int i = 0; i < count; i++) {
        uint32_t tag = events[i].data.u32;

        if (tag == RL_REACTOR_WAKE)
            client->woken = false;
        else if (tag == RL_REACTOR_TIMER)
            rl_reactor_fired(&client->reactor);
        else if (tag == RL_REACTOR_THREAD)
            rl_release_orphaned(client, now_ns);
        else if (tag < client->engine.policy.node_count)
            rl_conn_ready(&client->conn[tag], events[i].events, now_ns);
        else if (tag - RL_REACTOR_SUBSCRIBER < client->engine.policy.node_count)
            rl_conn_ready(&client->ear[tag - RL_REACTOR_SUBSCRIBER], events[i].events, now_ns);
    }
}

/* Waits without the mutex and handles what the sockets have. */
static void serve_sockets(redlock *client, int timeout_ms)
{
    struct epoll_event events[RL_REACTOR_EVENTS_MAX];
    bool for_all = client->spread && rl_spread_waits_for_all(client, timeout_ms);
    int count;

    timeout_ms = rl_reactor_patience_ms(&client->reactor, timeout_ms);
    timeout_ms = rl_seat_patience_ms(client, timeout_ms);
    client->sleeping = true;
    /* Whoever gets the mutex from here on wakes us, and whoever puts an order after this store. */
    atomic_store(&client->dozing, true);
    if (!rl_inbox_is_empty(client))
        timeout_ms = 0;
    pthread_mutex_unlock(&client->mutex);
    count = for_all ? rl_spread_wait(client, events, timeout_ms)
                    : rl_reactor_wait(&client->reactor, events, timeout_ms);
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    pthread_mutex_lock(&client->mutex);
    client->sleeping = false;
    rl_serve_events(client, events, count);
}

/*
 * The client's own decision to release or to stop trying, because it is closed or the owning
 * thread has ended. Whoever waits for an operation of this lock gets CANCELED.
 */
void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns)
{
    if (lock->operation == RL_RELEASE)
        return;
    if (lock->operation == RL_NO_OPERATION && lock->handle.lock.state == RL_HELD) {
        rl_operation_set(lock, RL_RELEASE);
        lock->done = NULL;
    } else {
        lock->given_up = lock->operation != RL_NO_OPERATION;
    }
    if (lock->handle.lock.state == RL_HELD)
        rl_handle_release(&client->engine, &lock->handle, now_ns);
    else
        rl_handle_cancel(&client->engine, &lock->handle, now_ns);
}

/* The mutex is held, and nobody else is turning. Returns the number of callbacks run. */
int rl_turn(redlock *client, int timeout_ms)
{
    int count;

    client->turning = true;
    rl_send_all(client);
    /*
     * Sockets before timers: after a pause of the caller, replies may be waiting that came in
     * time, and a node that has long answered must not be taken for a silent one.
     */
    serve_sockets(client, rl_engine_has_ready(&client->engine) ? 0 : timeout_ms);
    rl_tick(client, rl_now_ns());
    count = rl_deliver_all(client);
    rl_inbox_serve(client);
    rl_send_all(client);
    client->turning = false;
    return count;
}

static void *thread_main(void *data)
{
    redlock *client = data;

    pthread_mutex_lock(&client->mutex);
    while (!client->stopping) {
        rl_turn(client, -1);
        rl_seat_lend(client);
    }
    pthread_mutex_unlock(&client->mutex);
    return NULL;
}

int rl_thread_start(redlock *client)
{
    sigset_t all;
    sigset_t old;
    int error;

    /* The program's signals are for the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    client->threaded = true;
    rl_reactor_prepare_rest(&client->reactor);
    error = pthread_create(&client->thread, NULL, thread_main, client);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) {
        client->threaded = false;
        return rl_detail_system("starting the I/O thread", error);
    }
    return REDLOCK_OK;
}

/* The mutex is held, and is again afterwards. */
void rl_thread_stop(redlock *client)
{
    if (!client->threaded)
        return;
    client->stopping = true;
    rl_wake(client);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->thread, NULL);
    pthread_mutex_lock(&client->mutex);
    rl_seat_clear(client);
    client->threaded = false;
}

int redlock_fd(redlock *client)
{
    int fd;
    int error;

    if (rl_is_front(client))
        return rl_spread_fd(client);
    error = rl_client_enter(client, false);
    if (error)
        return error;
    fd = client->threaded ? rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the thread does the "
                                                     "watching; there is nothing to poll")
                          : client->reactor.epoll_fd;
    rl_client_leave(client);
    return fd;
}

/* Waits until nobody is driving; false when that takes longer than timeout_ms. */
static bool await_turn(redlock *client, int timeout_ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * RL_MS_NS;
    if (end.tv_nsec >= 1000 * RL_MS_NS) {
        end.tv_sec++;
        end.tv_nsec -= 1000 * RL_MS_NS;
    }
    while (client->turning) {
        if (timeout_ms < 0)
            pthread_cond_wait(&client->turn_cond, &client->mutex);
        else if (pthread_cond_timedwait(&client->turn_cond, &client->mutex, &end) != 0)
            return false;
    }
    return true;
}

int redlock_process(redlock *client, int timeout_ms)
{
    int result;

    if (rl_is_front(client))
        return rl_spread_process(client, timeout_ms);
    result = rl_client_enter(client, true);
    if (result)
        return result;
    if (client->threaded) {
        rl_client_leave(client);
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the thread does the processing");
    }
    /* A thread blocked in a call may be driving: it does what is due for us as well. */
    if (client->turning && !await_turn(client, timeout_ms)) {
        rl_client_leave(client);
        return 0;
    }
    result = rl_turn(client, timeout_ms);
    rl_hand_over(client);
    rl_client_leave(client);
    return result;
}
