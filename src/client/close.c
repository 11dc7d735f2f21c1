/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/close.h"

#include "drive/client.h"
#include "drive/handles.h"
#include "drive/order.h"
#include "drive/thread.h"
#include "drive/turn.h"
#include "io/clock.h"

/* Held locks are given up, blocked acquires end with CANCELED. */
static void end_locks(redlock *client, int64_t now_ns)
{
    for (redlock_lock *lock = rl_first_lock(client); lock; lock = rl_next_lock(lock))
        if (!lock->adopted)
            rl_give_up(client, lock, now_ns);
}

/* Releases that wait for a connection get one more try at it now. */
static void hurry_orphans(redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        if (client->conn[i].state == RL_CONN_WAITING &&
            client->engine.node[i].undelivered_count > 0)
            client->conn[i].link.retry_at_ns = 0;
}

static bool is_drained(const redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_session *session = &client->engine.node[i].session;

        /* The greeting alone is nothing to wait for, nor is what never left us. */
        bool worthwhile = client->conn[i].state == RL_CONN_OPEN ||
                          (client->conn[i].state != RL_CONN_WAITING &&
                           client->engine.node[i].undelivered_sent);

        if (worthwhile && session->pending.count > session->greeting_left)
            return false;
    }
    return true;
}

/* Gives releases and rollbacks until then to arrive. */
static void drain(redlock *client, int64_t end_ns)
{
    rl_turn(client, 0);
    for (int64_t now_ns = rl_now_ns(); now_ns < end_ns && !is_drained(client);
         now_ns = rl_now_ns())
        rl_turn(client, (int)((end_ns - now_ns) / RL_NS_PER_MS) + 1);
}

static void forget_locks(redlock *client, int64_t now_ns)
{
    redlock_lock *lock;

    while ((lock = rl_first_lock(client)) != NULL) {
        struct rl_claim *claim = lock->handle.claim;

        /* Its value stays readable until the handle is freed. */
        claim->references++;
        rl_handle_drop(&client->engine, &lock->handle, false, now_ns);
        rl_events_purge(client, lock);
        lock->operation = RL_NO_OPERATION;
        lock->handle.claim = claim;
        lock->dropped = true;
    }
}

static void end(redlock *client)
{
    client->closed = true;
    rl_client_tear_down(client);
    client->references--;
    rl_client_leave(client);
}

/*
 * In a child: the parent's connections and locks are not ours to touch. Memory is freed only
 * if no thread of the parent was changing it at the moment of the fork.
 */
static void close_in_child(redlock *client)
{
    if (pthread_mutex_trylock(&client->mutex) != 0)
        return;
    /* The epoll set is the parent's as well: without it, closing changes nothing there. */
    rl_reactor_free(&client->reactor);
    rl_questions_drop(client);
    forget_locks(client, 0);
    end(client);
}

static void announce(redlock *client)
{
    pthread_mutex_lock(&client->mutex);
    client->closing = true;
    pthread_mutex_unlock(&client->mutex);
}

static void begin(redlock *client)
{
    pthread_mutex_lock(&client->mutex);
    rl_thread_stop(client);
    rl_questions_cancel(client);
    end_locks(client, rl_now_ns());
    hurry_orphans(client);
    rl_turn(client, 0);
    pthread_mutex_unlock(&client->mutex);
}

static void finish(redlock *client, int64_t end_ns)
{
    pthread_mutex_lock(&client->mutex);
    drain(client, end_ns);
    forget_locks(client, rl_now_ns());
    end(client);
}

bool rl_clients_close(redlock *const *clients, size_t count)
{
    int64_t end_ns;

    if (count == 0)
        return true;
    if (rl_client_is_forked(clients[0])) {
        /* The first one last: questions to all are its own. */
        for (size_t i = count; i-- > 0;)
            close_in_child(clients[i]);
        return true;
    }
    if (rl_is_notifying())
        return false;
    for (size_t i = 0; i < count; i++)
        announce(clients[i]);
    for (size_t i = 0; i < count; i++)
        begin(clients[i]);
    end_ns = rl_now_ns() + clients[0]->engine.policy.node_timeout_ns;
    for (size_t i = 0; i < count; i++)
        finish(clients[i], end_ns);
    return true;
}
