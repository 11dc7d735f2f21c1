/* SPDX-License-Identifier: BSD-2-Clause */
/* Driving and ending several quorums. */
#include "client/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/frame.h"
#include "io/clock.h"

/* A member whose timer could not be set has nobody else to look at the clock. */
#define UNARMED_WAIT_MS 10

static int check_front(const redlock *front, bool blocking)
{
    if (rl_client_is_forked(front))
        return rl_detail(REDLOCK_FORKED, "this client was opened by the parent process; a "
                                         "child must open its own");
    if (blocking && rl_is_in_callback_of(front))
        return rl_detail(REDLOCK_INVAL, "a blocking call inside a callback would never "
                                        "return; use the redlock_start calls there");
    return REDLOCK_OK;
}

int rl_spread_fd(redlock *front)
{
    int error = check_front(front, false);

    if (error)
        return error;
    if (front->spread->epoll_fd < 0)
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the threads do the watching; "
                                        "there is nothing to poll");
    return front->spread->epoll_fd;
}

static bool is_unarmed(redlock *member)
{
    bool unarmed;

    pthread_mutex_lock(&member->mutex);
    unarmed = member->reactor.unarmed;
    pthread_mutex_unlock(&member->mutex);
    return unarmed;
}

static uint64_t find_unarmed(const struct rl_spread *spread)
{
    uint64_t unarmed = 0;

    for (size_t i = 0; i < spread->count; i++)
        if (is_unarmed(spread->member[i]))
            unarmed |= (uint64_t)1 << i;
    return unarmed;
}

/* One turn of every member that has something to do. */
int rl_spread_process(redlock *front, int timeout_ms)
{
    const struct rl_spread *spread = front->spread;
    struct epoll_event events[REDLOCK_QUORUMS_MAX];
    int total = check_front(front, true);
    uint64_t due;
    int count;

    if (total)
        return total;
    if (spread->epoll_fd < 0)
        return rl_detail(REDLOCK_INVAL, "with REDLOCK_THREAD the threads do the processing");
    due = find_unarmed(spread);
    if (due && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    count = epoll_wait(spread->epoll_fd, events, REDLOCK_QUORUMS_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        due |= (uint64_t)1 << events[i].data.u64;
    for (size_t i = 0; i < spread->count; i++) {
        int callbacks;

        if (!(due & (uint64_t)1 << i))
            continue;
        callbacks = redlock_process(spread->member[i], 0);
        if (callbacks < 0)
            return callbacks;
        total += callbacks;
    }
    return total;
}

/* The members are gone, or belong to a parent. */
void rl_spread_free(struct rl_spread *spread)
{
    if (spread->epoll_fd >= 0)
        close(spread->epoll_fd);
    free(spread->front);
    free(spread);
}

/*
 * All give their locks up before any waits for the answers, and all wait until the same moment:
 * quorums that do not answer cost their time once, however many they are.
 */
void rl_spread_close(redlock *front)
{
    struct rl_spread *spread = front->spread;
    bool forked = rl_client_is_forked(front);
    int64_t end_ns = 0;

    if (!forked && rl_is_in_callback_of(front))
        return;
    for (size_t i = 0; i < spread->count && !forked; i++)
        rl_close_announce(spread->member[i]);
    for (size_t i = 0; i < spread->count && !forked; i++)
        rl_close_begin(spread->member[i]);
    if (spread->count > 0)
        end_ns = rl_now_ns() + spread->member[0]->engine.policy.node_timeout_ns;
    for (size_t i = 0; i < spread->count; i++) {
        if (forked)
            rl_close_in_child(spread->member[i]);
        else
            rl_close_end(spread->member[i], end_ns);
    }
    rl_spread_free(spread);
}
