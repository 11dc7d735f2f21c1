/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's end, in the process that opened it and in its children. */
#include <stdlib.h>
#include <unistd.h>

#include "client/calls.h"
#include "io/clock.h"

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

/* The mutex is held; afterwards it is not. */
static void end(redlock *client, int64_t now_ns)
{
    struct rl_handle *handle;

    while ((handle = LIST_FIRST(&client->engine.handles)) != NULL) {
        redlock_lock *lock = (redlock_lock *)handle;
        struct rl_attempt *attempt = handle->attempt;

        /* Its value stays readable until the handle is freed. */
        attempt->references++;
        rl_handle_drop(&client->engine, handle, false, now_ns);
        rl_events_purge(client, lock);
        lock->operation = RL_NO_OPERATION;
        handle->attempt = attempt;
        lock->dropped = true;
    }
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
    rl_jobs_drop(client);
    end(client, 0);
}

static void begin(redlock *client)
{
    struct rl_handle *handle;
    int64_t now_ns;

    pthread_mutex_lock(&client->mutex);
    rl_thread_stop(client);
    rl_jobs_cancel(client);
    now_ns = rl_now_ns();
    /* Held locks are given up, blocked acquires end with CANCELED. */
    LIST_FOREACH (handle, &client->engine.handles, all)
        if (!((redlock_lock *)handle)->adopted)
            rl_give_up(client, (redlock_lock *)handle, now_ns);
    /* Releases that wait for a connection get one more try at it now. */
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        if (client->conn[i].state == RL_CONN_WAITING &&
            client->engine.node[i].undelivered_count > 0)
            client->conn[i].link.retry_at_ns = 0;
    rl_iterate(client, 0);
    pthread_mutex_unlock(&client->mutex);
}

/*
 * One client, or those of several quorums together: all give their locks up before any waits
 * for the answers, and all wait until the same moment. Quorums that do not answer cost their
 * time once, however many they are.
 */
static void close_all(redlock *const *clients, size_t count)
{
    int64_t end_ns;

    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&clients[i]->mutex);
        clients[i]->closing = true;
        pthread_mutex_unlock(&clients[i]->mutex);
    }
    for (size_t i = 0; i < count; i++)
        begin(clients[i]);
    end_ns = rl_now_ns() + (count ? clients[0]->engine.policy.node_timeout_ns : 0);
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&clients[i]->mutex);
        rl_iterate(clients[i], 0);
        /* Releases and rollbacks have until then to arrive. */
        for (int64_t now_ns = rl_now_ns(); now_ns < end_ns && !is_drained(clients[i]);
             now_ns = rl_now_ns())
            rl_iterate(clients[i], (int)((end_ns - now_ns) / RL_NS_PER_MS) + 1);
        end(clients[i], rl_now_ns());
    }
}

void redlock_close(redlock *client)
{
    struct rl_reader *reader = client ? client->reader : NULL;
    bool is_sharded = client && client->is_sharded;
    redlock *const *clients = is_sharded ? reader->member : &client;
    size_t count = is_sharded ? reader->count : 1;

    if (!client || client->is_member) /* which ends with the sharded client */
        return;
    if (rl_client_is_forked(client)) {
        /* The first one last: jobs for all are its own. */
        for (size_t i = count; i-- > 0;)
            close_in_child(clients[i]);
    } else if (rl_is_notifying()) {
        return;
    } else {
        close_all(clients, count);
    }
    if (!is_sharded)
        return;
    if (reader->driven_fd >= 0)
        close(reader->driven_fd);
    rl_reader_free(reader);
    free(client);
}
