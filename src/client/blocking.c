/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocked calls. Without an I/O thread the blocked callers drive the client themselves: one of
 * them makes the turns for all, and hands over to the next when its own call is finished.
 */
#include "client/client.h"
#include "io/clock.h"

/* Sockets nobody has looked at for this long may have closed meanwhile. */
#define STALE_NS RL_MS_NS

void rl_look_first(redlock *client)
{
    /* So that a request does not go into a connection that ended while nobody looked. */
    if (client->threaded || client->turning || rl_now_ns() - client->turned_ns <= STALE_NS)
        return;
    rl_turn(client, 0);
    rl_hand_over(client);
}

/* Nobody drives any more: one of those who wait takes over. */
void rl_hand_over(redlock *client)
{
    if (client->turning)
        return;
    pthread_cond_broadcast(&client->turn_cond);
    if (client->blocked)
        pthread_cond_signal(&client->blocked->finished_cond);
}

static void enlist(redlock *client, redlock_lock *lock)
{
    lock->blocked_previous = NULL;
    lock->blocked_next = client->blocked;
    if (client->blocked)
        client->blocked->blocked_previous = lock;
    client->blocked = lock;
}

static void delist(redlock *client, redlock_lock *lock)
{
    if (lock->blocked_previous)
        lock->blocked_previous->blocked_next = lock->blocked_next;
    else
        client->blocked = lock->blocked_next;
    if (lock->blocked_next)
        lock->blocked_next->blocked_previous = lock->blocked_previous;
}

int rl_wait_finished(redlock *client, redlock_lock *lock)
{
    enlist(client, lock);
    while (!lock->finished) {
        if (client->threaded || client->turning) {
            rl_wake(client);
            pthread_cond_wait(&lock->finished_cond, &client->mutex);
        } else {
            rl_turn(client, -1);
        }
    }
    delist(client, lock);
    lock->finished = false;
    rl_hand_over(client);
    return lock->result;
}
