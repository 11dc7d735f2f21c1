/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving and ending several quorums. */
#include "quorums/front.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/close.h"
#include "drive/detail.h"
#include "drive/order.h"
#include "drive/turn.h"

/* A member whose timer could not be set depends on its driver to look at the clock. */
#define UNARMED_WAIT_MS 10

/* The caller's loop drives all of them. */
static void note_driven(const struct rl_front *front)
{
    for (size_t i = 0; i < front->count; i++)
        atomic_store(&front->member[i]->driven, true);
}

int rl_front_fd(redlock *client)
{
    int error = rl_call_check(client, false);

    if (error)
        return error;
    if (client->front->epoll_fd < 0)
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the threads do the watching; "
                                        "there is nothing to poll");
    note_driven(client->front);
    return client->front->epoll_fd;
}

static bool is_unarmed(redlock *member)
{
    bool unarmed;

    pthread_mutex_lock(&member->mutex);
    unarmed = member->reactor.unarmed;
    pthread_mutex_unlock(&member->mutex);
    return unarmed;
}

static uint64_t find_unarmed(const struct rl_front *front)
{
    uint64_t unarmed = 0;

    for (size_t i = 0; i < front->count; i++)
        if (is_unarmed(front->member[i]))
            unarmed |= (uint64_t)1 << i;
    return unarmed;
}

/* One turn of every member that has something to do. */
int rl_front_process(redlock *client, int timeout_ms)
{
    const struct rl_front *front = client->front;
    struct epoll_event events[REDLOCK_QUORUMS_MAX];
    int total = rl_call_check(client, true);
    uint64_t due;
    int count;

    if (total)
        return total;
    if (front->epoll_fd < 0)
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the threads do the processing");
    note_driven(front);
    due = find_unarmed(front);
    if (due && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    count = epoll_wait(front->epoll_fd, events, REDLOCK_QUORUMS_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        due |= (uint64_t)1 << events[i].data.u64;
    for (size_t i = 0; i < front->count; i++) {
        int callbacks;

        if (!(due & (uint64_t)1 << i))
            continue;
        callbacks = rl_client_process(front->member[i], 0);
        if (callbacks < 0)
            return callbacks;
        total += callbacks;
    }
    return total;
}

void rl_front_close(redlock *client)
{
    struct rl_front *front = client->front;

    if (!rl_clients_close(front->member, front->count))
        return;
    if (front->epoll_fd >= 0)
        close(front->epoll_fd);
    free(front->client);
    free(front);
}
