/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A blocked call without an I/O thread makes the turns for all callers, until its own is finished.
 * Of several quorums it drives the one where its lock lives; while it waits there, it looks at the
 * descriptors of all, and makes a turn of each other member that is ready and has no driver of its
 * own. So locks of other quorums are renewed meanwhile, as those of one quorum are.
 */
#include "drive/order.h"
#include "drive/turn.h"
#include "io/clock.h"
#include "quorums/front.h"

/* A member that another thread drives keeps its descriptor ready: how long until the next look. */
#define BUSY_MS 10

bool rl_front_serve(redlock *member, bool is_read)
{
    bool is_free;

    if (rl_client_enter(member) != REDLOCK_OK)
        return false;
    is_free = !member->turning;
    if (is_free) {
        member->is_read = is_read;
        rl_turn(member, 0);
        member->is_read = false;
        rl_stop_driving(member);
    }
    rl_client_leave(member);
    return is_free;
}

void rl_front_catch_up(const struct rl_front *front)
{
    for (size_t i = 0; i < front->count; i++)
        if (!front->member[i]->threaded)
            rl_front_serve(front->member[i], false);
}

/* No mutex is held. Fills the events of this member, as rl_reactor_wait() does. */
int rl_front_wait(redlock *member, struct epoll_event *events, int timeout_ms)
{
    const struct rl_front *front = member->group;
    struct epoll_event ready[REDLOCK_QUORUMS_MAX];
    int64_t end_ns = rl_now_ns() + (int64_t)timeout_ms * RL_NS_PER_MS;

    for (;;) {
        int64_t left_ns = timeout_ms < 0 ? 0 : end_ns - rl_now_ns();
        int left_ms = timeout_ms < 0 ? -1 : left_ns > 0 ? (int)(left_ns / RL_NS_PER_MS) + 1 : 0;
        int count = epoll_wait(front->epoll_fd, ready, REDLOCK_QUORUMS_MAX, left_ms);
        bool own = count <= 0; /* the time is over, or a signal came */
        bool busy = false;

        for (int i = 0; i < count; i++) {
            redlock *other = front->member[ready[i].data.u64];

            own = own || other == member;
            busy = (other != member && !rl_front_serve(other, false)) || busy;
        }
        if (own)
            return rl_reactor_wait(&member->reactor, events, 0);
        if (busy)
            return rl_reactor_wait(&member->reactor, events,
                                   left_ms < 0 || left_ms > BUSY_MS ? BUSY_MS : left_ms);
    }
}
