/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocked calls. Without an I/O thread the blocked callers drive the client themselves: one of
 * them makes the turns for all, and hands over to the next when its own call is finished.
 *
 * Whoever sleeps here sleeps on a word of its own, and learns the outcome from it alone: a woken
 * caller does not queue for the mutex that its waker still holds.
 */
#include "client/client.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/clock.h"

/* Sockets nobody has looked at for this long may have closed meanwhile. */
#define STALE_NS RL_MS_NS

/* ---- one blocked call ---- */

static void futex(atomic_uint *word, int operation, unsigned value)
{
    /* A wait may end early and a wake may find nobody: both are looked at by the caller. */
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Sleeps until somebody says something; the mutex is not held. */
static enum rl_blocked_word sleep_on(struct rl_blocked *blocked)
{
    unsigned word;

    while ((word = atomic_load_explicit(&blocked->word, memory_order_acquire)) == RL_ASLEEP)
        futex(&blocked->word, FUTEX_WAIT, RL_ASLEEP);
    return (enum rl_blocked_word)word;
}

/* After this the blocked thread may return, and its stack is no longer ours to look at. */
static void say(struct rl_blocked *blocked, enum rl_blocked_word word)
{
    atomic_uint *address = &blocked->word;

    if (atomic_exchange_explicit(address, word, memory_order_acq_rel) == RL_ASLEEP)
        futex(address, FUTEX_WAKE, 1);
}

void rl_blocked_finish(struct rl_blocked *blocked, int result)
{
    blocked->result = result;
    say(blocked, RL_FINISHED);
}

int rl_blocked_await(struct rl_blocked *blocked)
{
    while (sleep_on(blocked) != RL_FINISHED)
        ;
    return blocked->result;
}

/* ---- driving in turns ---- */

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
        say(client->blocked, RL_DRIVE);
}

static void enlist(redlock *client, struct rl_blocked *blocked)
{
    blocked->previous = NULL;
    blocked->next = client->blocked;
    if (client->blocked)
        client->blocked->previous = blocked;
    client->blocked = blocked;
}

static void delist(redlock *client, struct rl_blocked *blocked)
{
    if (blocked->previous)
        blocked->previous->next = blocked->next;
    else
        client->blocked = blocked->next;
    if (blocked->next)
        blocked->next->previous = blocked->previous;
}

void rl_finish_blocked(redlock *client, redlock_lock *lock, int result)
{
    struct rl_blocked *blocked = lock->blocked;

    if (!blocked)
        return;
    lock->blocked = NULL;
    if (blocked->drives)
        delist(client, blocked);
    if (rl_seat_keeps(client, blocked))
        blocked->result = result;
    else
        rl_blocked_finish(blocked, result);
}

int rl_wait_unlocked(redlock *client, redlock_lock *lock)
{
    struct rl_blocked me = {.word = RL_AWAKE, .drives = true};

    lock->blocked = &me;
    enlist(client, &me);
    while (atomic_load(&me.word) != RL_FINISHED) {
        if (!client->threaded && !client->turning) {
            rl_turn(client, -1);
            continue;
        }
        rl_wake(client);
        atomic_store(&me.word, RL_ASLEEP);
        pthread_mutex_unlock(&client->mutex);
        if (sleep_on(&me) == RL_FINISHED)
            return me.result;
        pthread_mutex_lock(&client->mutex);
    }
    rl_hand_over(client);
    pthread_mutex_unlock(&client->mutex);
    return me.result;
}

int rl_wait_finished(redlock *client, redlock_lock *lock)
{
    int result = rl_wait_unlocked(client, lock);

    pthread_mutex_lock(&client->mutex);
    return result;
}
