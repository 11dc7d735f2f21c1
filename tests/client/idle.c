/* SPDX-License-Identifier: BSD-2-Clause */
/* A caller that is busy with other things for a while, as every caller of a lock is. */
#include "fixture.h"

#include <time.h>

/* Longer than a node may be silent (1 s) before it is given up. */
static void be_busy(void)
{
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
}

static void check_connects(redlock *r, int node_count)
{
    for (int i = 0; i < node_count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        CHECK_OK(redlock_node(r, (size_t)i, &info));
        CHECK_INT(REDLOCK_NODE_UP, info.state);
        CHECK_INT(1, info.connects);
    }
}

CASE_ON(a_busy_caller_loses_no_connection,
        "A connection whose replies wait unread is not closed as silent.", .nodes = 5,
        .node_timeout_ms = STEADY_MS)
{
    /* Decided by three replies: the other two stay unread while the caller works. */
    redlock_lock *lock = client_lock(r, "x", 10000);
    be_busy();
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    check_connects(r, 5);
}

CASE_ON(replies_that_came_in_time_count,
        "A stalled event loop counts the replies that came in time.",
        .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock;
    const redlock_event *event;
    CHECK_OK(redlock_start_acquire(r, "x", 10000, NULL, &lock));
    event = next_event(r, 0);
    if (!event) { /* else the replies were quicker than this loop */
        nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
        event = next_event(r, GIVE_UP_MS);
    }
    CHECK(event && event->type == REDLOCK_EVENT_ACQUIRED && event->lock == lock);
    CHECK_OK(event->error);
    CHECK_OK(redlock_release(lock));
}
