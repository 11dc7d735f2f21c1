/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <signal.h>
#include <time.h>

#include "io/clock.h"

/* How long no thread drives when the reader stays away: renewals and notices are
 * later by it. */
#define AWAY_NS (2 * RL_NS_PER_MS)

/* ---- relief by the reader ---- */

bool rl_thread_relieve(redlock *client)
{
    if (atomic_load(&client->relief.blocked) > 0) {
        rl_thread_summon(client);
        return false;
    }
    atomic_store(&client->relief.is_on, true);
    if (client->has_driver)
        rl_wake(client);
    return true;
}

void rl_thread_summon(redlock *client)
{
    /* A signal that comes between its look and its sleep is made up for by the end of that. */
    if (atomic_exchange(&client->relief.is_on, false))
        pthread_cond_signal(&client->relief.wake_cond);
}

void rl_thread_watch(redlock *client)
{
    client->relief.iterations++;
    /* A submission that came after the iteration looked would find no driver that is awake. */
    if (atomic_load(&client->relief.blocked) > 0 || atomic_load(&client->inbox))
        rl_thread_summon(client);
    else if (client->relief.sleeps)
        pthread_cond_signal(&client->relief.wake_cond);
}

/*
 * The I/O thread looks once in AWAY_NS whether the reader has come back, however many
 * iterations that makes; and not at all while the reader waits in one, whose end wakes it.
 */
static void stand_by(redlock *client)
{
    struct rl_relief *relief = &client->relief;
    struct timespec end;
    uint32_t iterations;

    if (client->has_driver) {
        relief->sleeps = true;
        pthread_cond_wait(&relief->wake_cond, &client->mutex);
        relief->sleeps = false;
        if (client->stopping || !atomic_load(&relief->is_on))
            return;
    }
    iterations = relief->iterations;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += AWAY_NS;
    if (end.tv_nsec >= 1000 * RL_NS_PER_MS) {
        end.tv_sec++;
        end.tv_nsec -= 1000 * RL_NS_PER_MS;
    }
    pthread_cond_timedwait(&relief->wake_cond, &client->mutex, &end);
    if (!client->has_driver && relief->iterations == iterations)
        atomic_store(&relief->is_on, false);
}

/* ---- the thread ---- */

static void *thread_main(void *data)
{
    redlock *client = data;

    pthread_mutex_lock(&client->mutex);
    while (!client->stopping) {
        if (atomic_load(&client->relief.is_on)) {
            stand_by(client);
        } else if (client->has_driver) {
            pthread_cond_wait(&client->driver_cond, &client->mutex);
        } else {
            rl_iterate(client, -1);
            if (atomic_load(&client->relief.is_on))
                pthread_cond_broadcast(&client->driver_cond);
        }
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
    error = pthread_create(&client->thread, NULL, thread_main, client);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) {
        client->threaded = false;
        return rl_detail_system("starting the I/O thread", error);
    }
    return REDLOCK_OK;
}

void rl_thread_stop(redlock *client)
{
    if (!client->threaded)
        return;
    client->stopping = true;
    rl_wake(client);
    rl_thread_summon(client);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->thread, NULL);
    pthread_mutex_lock(&client->mutex);
    client->threaded = false;
}
