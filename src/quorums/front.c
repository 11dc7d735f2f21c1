/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving and ending several quorums. */
#include "quorums/front.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/close.h"
#include "drive/next.h"

/* A member whose timer could not be set depends on its driver to look at the clock. */
#define UNARMED_WAIT_MS 10
/* How long until the next look at a member that another thread drives. */
#define BUSY_MS 10

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
static bool turn_members(const struct rl_source *source, int timeout_ms)
{
    const struct rl_front *front = source->client[0]->group;
    struct epoll_event events[REDLOCK_QUORUMS_MAX];
    uint64_t due = find_unarmed(front);
    bool is_busy = false;
    int count;

    if (due && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    count = epoll_wait(front->epoll_fd, events, REDLOCK_QUORUMS_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        due |= (uint64_t)1 << events[i].data.u64;
    for (size_t i = 0; i < front->count; i++)
        if (due & (uint64_t)1 << i)
            is_busy |= !rl_front_serve(front->member[i], true);
    /* Another thread drives that member: its descriptor stays readable meanwhile. */
    if (is_busy && timeout_ms != 0)
        poll(NULL, 0, timeout_ms < 0 || timeout_ms > BUSY_MS ? BUSY_MS : timeout_ms);
    return count >= 0;
}

static struct rl_source source_of(const struct rl_front *front)
{
    return (struct rl_source){
        .reader = front->client->reader,
        .client = front->member,
        .count = front->count,
        .driven_fd = front->epoll_fd,
        .turn = turn_members,
    };
}

int rl_front_fd(redlock *client)
{
    struct rl_source source;
    int error = rl_client_check(client);

    if (error)
        return error;
    source = source_of(client->front);
    return rl_source_fd(&source);
}

int rl_front_next(redlock *client, const redlock_event **event, int timeout_ms)
{
    struct rl_source source;
    int error = rl_client_check(client);

    if (error)
        return error;
    for (size_t i = 0; i < client->front->count; i++)
        atomic_store(&client->front->member[i]->driven, true);
    source = source_of(client->front);
    return rl_source_next(&source, event, timeout_ms);
}

void rl_front_close(redlock *client)
{
    struct rl_front *front = client->front;

    if (!rl_clients_close(front->member, front->count))
        return;
    rl_reader_free(client->reader);
    if (front->epoll_fd >= 0)
        close(front->epoll_fd);
    free(front->client);
    free(front);
}
