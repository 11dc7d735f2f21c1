/* SPDX-License-Identifier: BSD-2-Clause */
/* A caller that is busy with other things for a while, as every caller of a lock is. */
#include "check.h"
#include "client.h"

#include <time.h>

/* Longer than a node may be silent (1 s) before it is given up. */
static void be_busy(void)
{
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
}

static void check_connects(redlock *r, int node_count)
{
    for (int i = 0; i < node_count; i++) {
        redlock_node_info info = {.size = sizeof info};
        CHECK_OK(redlock_node(r, (size_t)i, &info));
        CHECK_INT(REDLOCK_NODE_UP, info.state);
        CHECK_INT(1, info.connects);
    }
}

CASE(a_busy_caller_loses_no_connection,
     "A connection whose replies wait unread is not closed as silent.")
{
    struct cluster c;
    redlock *r = client_start_hasty(&c, 5, 0, DEFAULT_MS);
    /* Decided by three replies: the other two stay unread while the caller works. */
    redlock_lock *lock = client_lock(r, "x", 10000);
    be_busy();
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    check_connects(r, 5);
    redlock_close(r);
}

static void note_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    *(int *)data = error;
}

CASE(replies_that_came_in_time_count,
     "A stalled event loop counts the replies that came in time.")
{
    struct cluster c;
    redlock *r = client_start_hasty(&c, 3, 0, DEFAULT_MS);
    int result = 1;
    redlock_request request = {.size = sizeof request, .done = note_done, .data = &result};
    redlock_lock *lock;
    CHECK_OK(redlock_start(r, "x", 10000, &request, &lock));
    CHECK(redlock_process(r, 0) >= 0);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    while (result == 1)
        CHECK(redlock_process(r, 1000) >= 0);
    CHECK_ERR(REDLOCK_OK, result);
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    redlock_close(r);
}
