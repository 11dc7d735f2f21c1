/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/enter.h"

#include <stdlib.h>

#include "drive/client.h"
#include "drive/detail.h"
#include "io/process.h"

bool rl_client_is_forked(const redlock *client)
{
    return rl_process_stamp() != client->stamp;
}

int rl_client_check(const redlock *client)
{
    if (!client)
        return rl_detail(REDLOCK_INVAL, "the client is NULL");
    if (rl_client_is_forked(client))
        return rl_detail(REDLOCK_FORKED, "this client was opened by the parent process; a "
                                         "child must open its own");
    return REDLOCK_OK;
}

int rl_client_enter(redlock *client, bool blocking)
{
    int error = rl_client_check(client);

    if (error)
        return error;
    if (blocking && rl_is_in_callback_of(client))
        return rl_detail(REDLOCK_INVAL, "a blocking call inside a callback would never return; "
                                        "use the redlock_start calls there");
    pthread_mutex_lock(&client->mutex);
    if (!client->closed && !client->closing)
        return REDLOCK_OK;
    pthread_mutex_unlock(&client->mutex);
    return rl_detail(REDLOCK_INVAL, "the client has been closed");
}

void rl_client_leave(redlock *client)
{
    bool is_last = client->references == 0;

    pthread_mutex_unlock(&client->mutex);
    if (!is_last)
        return;
    if (!rl_client_is_forked(client)) {
        pthread_cond_destroy(&client->turn_cond);
        pthread_mutex_destroy(&client->mutex);
    }
    free(client);
}

/* ---- callbacks ---- */

static _Thread_local struct rl_frame *innermost;

void rl_frame_enter(struct rl_frame *frame, const redlock *client)
{
    frame->client = client;
    frame->outer = innermost;
    innermost = frame;
}

void rl_frame_leave(const struct rl_frame *frame)
{
    innermost = frame->outer;
}

bool rl_is_in_callback_of(const redlock *client)
{
    for (const struct rl_frame *frame = innermost; frame; frame = frame->outer)
        if (frame->client == client || (client->group && frame->client->group == client->group))
            return true;
    return false;
}
