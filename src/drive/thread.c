/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/thread.h"

#include <signal.h>

#include "drive/client.h"
#include "drive/detail.h"
#include "drive/turn.h"

static void *thread_main(void *data)
{
    redlock *client = data;

    pthread_mutex_lock(&client->mutex);
    while (!client->stopping)
        rl_turn(client, -1);
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
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->thread, NULL);
    pthread_mutex_lock(&client->mutex);
    client->threaded = false;
}
