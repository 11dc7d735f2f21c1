/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <poll.h>

#include "io/clock.h"

/* A member whose timer could not be set depends on its driver to look at the clock. */
#define UNARMED_WAIT_MS 10
/* A member driven by another thread keeps its descriptor ready: how long to the next look. */
#define BUSY_MS 10

/* is_read: by redlock_next(). False: another thread drives it, or it is being closed. */
static bool serve(redlock *member, bool is_read)
{
    bool is_free;

    if (rl_client_enter(member) != REDLOCK_OK)
        return false;
    is_free = !member->has_driver;
    if (is_free) {
        member->is_read = is_read;
        rl_iterate(member, 0);
        member->is_read = false;
        rl_stop_driving(member);
    }
    rl_client_leave(member);
    return is_free;
}

void rl_members_catch_up(const struct rl_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        if (!reader->member[i]->threaded)
            serve(reader->member[i], false);
}

bool rl_members_iterate(const struct rl_reader *reader, int timeout_ms)
{
    struct epoll_event events[REDLOCK_QUORUMS_MAX];
    uint64_t due = 0;
    bool is_busy = false;
    int count;

    for (size_t i = 0; i < reader->count; i++) {
        redlock *member = reader->member[i];

        pthread_mutex_lock(&member->mutex);
        due |= (uint64_t)member->reactor.unarmed << i;
        pthread_mutex_unlock(&member->mutex);
    }
    if (due && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        timeout_ms = UNARMED_WAIT_MS;
    count = epoll_wait(reader->driven_fd, events, REDLOCK_QUORUMS_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        due |= (uint64_t)1 << events[i].data.u64;
    for (size_t i = 0; i < reader->count; i++)
        if (due & (uint64_t)1 << i)
            is_busy |= !serve(reader->member[i], true);
    /* Another thread drives that member: its descriptor stays readable meanwhile. */
    if (is_busy && timeout_ms != 0)
        poll(NULL, 0, timeout_ms < 0 || timeout_ms > BUSY_MS ? BUSY_MS : timeout_ms);
    return count >= 0;
}

int rl_members_wait(redlock *member, struct epoll_event *events, int timeout_ms)
{
    const struct rl_reader *reader = member->reader;
    struct epoll_event ready[REDLOCK_QUORUMS_MAX];
    int64_t end_ns = rl_now_ns() + (int64_t)timeout_ms * RL_NS_PER_MS;

    for (;;) {
        int64_t left_ns = timeout_ms < 0 ? 0 : end_ns - rl_now_ns();
        int left_ms = timeout_ms < 0 ? -1 : left_ns > 0 ? (int)(left_ns / RL_NS_PER_MS) + 1 : 0;
        int count = epoll_wait(reader->driven_fd, ready, REDLOCK_QUORUMS_MAX, left_ms);
        bool own = count <= 0; /* the time is over, or a signal came */
        bool busy = false;

        for (int i = 0; i < count; i++) {
            redlock *other = reader->member[ready[i].data.u64];

            own = own || other == member;
            busy = (other != member && !serve(other, false)) || busy;
        }
        if (own)
            return rl_reactor_wait(&member->reactor, events, 0);
        if (busy)
            return rl_reactor_wait(&member->reactor, events,
                                   left_ms < 0 || left_ms > BUSY_MS ? BUSY_MS : left_ms);
    }
}
