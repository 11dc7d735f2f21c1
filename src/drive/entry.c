/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "drive/drive.h"

bool rl_client_is_forked(const redlock *client)
{
    return rl_process_stamp() != client->stamp;
}

static int check_process(const redlock *client)
{
    if (rl_client_is_forked(client))
        return rl_detail(REDLOCK_FORKED, "this client was opened by the parent process; a "
                                         "child must open its own");
    return REDLOCK_OK;
}

int rl_client_check(const redlock *client)
{
    int error = client ? check_process(client) : rl_detail(REDLOCK_INVAL, "the client is NULL");

    if (!error && rl_is_notifying())
        error = rl_detail(REDLOCK_INVAL, "notify may only look at its lock");
    return error;
}

int rl_client_enter(redlock *client)
{
    int error = rl_client_check(client);

    if (error)
        return error;
    pthread_mutex_lock(&client->mutex);
    if (!client->closed && !client->closing)
        return REDLOCK_OK;
    pthread_mutex_unlock(&client->mutex);
    return rl_detail(REDLOCK_INVAL, "the client has been closed");
}

int rl_lock_enter(const redlock_lock *lock)
{
    int error =
        lock ? check_process(lock->client) : rl_detail(REDLOCK_INVAL, "the lock is NULL");

    if (!error)
        pthread_mutex_lock(&lock->client->mutex);
    return error;
}

void rl_client_leave(redlock *client)
{
    bool is_last = client->references == 0;

    pthread_mutex_unlock(&client->mutex);
    if (!is_last)
        return;
    if (!rl_client_is_forked(client)) {
        pthread_cond_destroy(&client->driver_cond);
        pthread_cond_destroy(&client->relief.wake_cond);
        pthread_mutex_destroy(&client->mutex);
    }
    free(client);
}
