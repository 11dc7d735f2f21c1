/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening, closing, freeing and giving up in every order. Under LeakSanitizer each case also
 * says that nothing is leaked; the descriptor count says so everywhere.
 */
#include "fixture.h"

#include <stdio.h>

CASE_NODES(open_close_cycles,
           "Opening and closing, used or not, leaks no memory or descriptor.",
           .also = {REDLOCK_THREAD})
{
    redlock *first = client_open(c, flags);
    int before;
    client_close(first);
    before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        r = client_open(c, flags);
        if (i % 2 == 0)
            client_unlock(client_lock(r, "x", 10000));
        client_close(r);
    }
    CHECK_INT(before, count_descriptors());
    CHECK(cluster_await_empty(c));
}

CASE_NODES(close_at_once, "A client can be closed while it connects, also to dead nodes.")
{
    redlock_options o;
    server_kill(&c->node[1]);
    c->urls[2] = "redis://no-such-host.invalid";
    o = client_options(c);
    o.connect_timeout_ms = FAR_MS;
    for (int i = 0; i < 10; i++) {
        int64_t start_ms;
        o.flags = i % 2 == 0 ? REDLOCK_THREAD : 0;
        r = client_open_with(&o);
        start_ms = now_ms();
        client_close(r);
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    }
}

CASE(close_null, "Closing and freeing NULL does nothing.")
{
    client_close(NULL);
    redlock_lock_free(NULL);
}

CASE_NODES(many_clients, "Thirty clients work at once in one process.")
{
    redlock *client[30];
    char name[16];
    for (int i = 0; i < 30; i++)
        client[i] = client_open(c, i % 3 == 0 ? REDLOCK_THREAD : 0);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "n%d", i);
        client_unlock(client_lock(client[i], name, 10000));
    }
}

CASE_ON(free_while_held, "Freeing the handle of a held lock releases it on every node.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock = client_lock_on(r, c, 3, "x", 30000);
    redlock_lock_free(lock);
    NO_EVENT(r); /* without the I/O thread, this sends it */
    CHECK(cluster_await(c, "redlock:x", 0));
    CHECK_OK(client_try(r, "x", 10000));
}

static void close_held(uint32_t flags, bool free_first)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 30000);
    if (free_first)
        redlock_lock_free(lock);
    client_close(r);
    CHECK(cluster_await(&c, "redlock:x", 0));
    if (!free_first) {
        CHECK_INT(0, redlock_remaining_ms(lock));
        redlock_lock_free(lock);
    }
}

CASE_OF(close_while_held,
        "Closing a client releases its locks; the handle can be freed afterwards.",
        close_held(0, false));

CASE_OF(close_while_held_io_thread, "With the I/O thread, closing a client releases its locks.",
        close_held(REDLOCK_THREAD, false));

CASE_OF(free_then_close, "A lock freed right before the close is released on every node.",
        close_held(0, true));

CASE_ON(close_with_hung_nodes, "Closing with held locks and hung nodes takes one node timeout.",
        .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock(r, "x", LONG_TTL_MS);
    int64_t start_ms;
    cluster_each(c, 0, 3, server_freeze);
    start_ms = now_ms();
    client_close(r);
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    redlock_lock_free(lock);
}

static redlock_lock *start_waiting(redlock *r)
{
    redlock_lock *lock = CLIENT_START(r, "x", 10000, .wait_ms = REDLOCK_WAIT_FOREVER);
    return lock;
}

/* Drives the client, or lets its thread do so; no outcome comes meanwhile. */
static void wait_for(redlock *r, int64_t ms)
{
    for (int64_t end_ms = now_ms() + ms; now_ms() < end_ms; sleep_ms(1))
        NO_EVENT(r);
}

static void hold_elsewhere(struct cluster *c)
{
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
}

CASE_NODES(cancel_while_waiting,
           "A canceled wait ends without an event and leaves nothing on the nodes.",
           .also = {REDLOCK_THREAD})
{
    hold_elsewhere(c);
    r = client_open(c, flags);
    for (int i = 0; i < 20; i++) {
        redlock_lock *lock = start_waiting(r);
        wait_for(r, i % 5 * 5);
        CHECK_OK(redlock_cancel(lock));
        NO_EVENT(r);
        CHECK_OK(redlock_cancel(lock)); /* no effect any more */
        CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
        redlock_lock_free(lock);
    }
    cluster_del(c, 0, 3, "redlock:x");
    wait_for(r, 50); /* a waiter left behind would take it now */
    CHECK(cluster_await_empty(c));
    NO_EVENT(r);
    client_close(r);
}

CASE_ON(cancel_when_granted, "A grant that was not read yet is taken back by a cancel.",
        .also = {REDLOCK_THREAD})
{
    for (int i = 0; i < 10; i++) {
        redlock_lock *lock = start_waiting(r), *later = NULL;
        /* Its grant comes before that of a blocked caller, which drives, and is not read. */
        CHECK_OK(redlock_acquire(r, "y", 10000, NULL, &later));
        CHECK_INT(REDLOCK_STATE_WAITING, redlock_state(lock));
        CHECK_OK(redlock_cancel(lock));
        NO_EVENT(r);
        CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
        CHECK(cluster_await(c, "redlock:x", 0));
        redlock_lock_free(lock);
        client_unlock(later);
    }
}

CASE_ON(cancel_when_held, "A cancel has no effect on a lock whose owner knows that it is held.")
{
    redlock_lock *lock = start_waiting(r);
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
    CHECK_OK(redlock_cancel(lock));
    NO_EVENT(r);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
}

CASE_NODES(free_while_waiting,
           "Freeing the handle of a waiter cancels the wait without an event.",
           .also = {REDLOCK_THREAD})
{
    hold_elsewhere(c);
    r = client_open(c, flags);
    for (int i = 0; i < 20; i++) {
        redlock_lock *lock = start_waiting(r);
        wait_for(r, i % 5 * 4);
        redlock_lock_free(lock);
    }
    cluster_del(c, 0, 3, "redlock:x");
    wait_for(r, 50); /* a waiter left behind would take it now */
    CHECK(cluster_await_empty(c));
    client_close(r);
}

CASE_ON(leave_while_acquiring,
        "Leaving a lock that is not held yet takes back what it has set.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock;
    cluster_each(c, 1, 2, server_freeze);
    lock = start_waiting(r);
    NO_EVENT(r);
    AWAIT(server_keys(&c->node[0]) > 0);
    redlock_lock_leave(lock);
    cluster_each(c, 1, 2, server_thaw);
    wait_for(r, 30);
    CHECK(cluster_await_empty(c));
    NO_EVENT(r);
}

CASE_NODES(close_while_waiting, "Closing a client ends its waits before it returns.",
           .also = {REDLOCK_THREAD})
{
    redlock_lock *lock[5];
    hold_elsewhere(c);
    r = client_open(c, flags);
    for (int i = 0; i < 5; i++)
        lock[i] = start_waiting(r);
    wait_for(r, 30);
    client_close(r);
    for (int i = 0; i < 5; i++)
        redlock_lock_free(lock[i]);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
}

CASE_NODES(close_before_anything_was_sent, "Closing ends a request that was never sent.")
{
    redlock_lock *lock;
    hold_elsewhere(c);
    r = client_open(c, 0);
    lock = start_waiting(r);
    client_close(r);
    CHECK_INT(0, redlock_remaining_ms(lock));
    redlock_lock_free(lock);
}

/* A held lock with an operation under way, when its client or its handle ends. */
static void end_in_the_middle(uint32_t flags, bool release, bool free_first)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 30000);
    if (release)
        CHECK_OK(redlock_start_release(lock));
    else
        CHECK_OK(redlock_start_extend(lock, 30000));
    if (free_first)
        redlock_lock_free(lock);
    client_close(r);
    CHECK(cluster_await(&c, "redlock:x", 0));
    if (!free_first)
        redlock_lock_free(lock);
}

CASE(close_while_extending, "Closing a client in the middle of an extension releases the lock.")
{
    end_in_the_middle(0, false, false);
    end_in_the_middle(REDLOCK_THREAD, false, false);
}

CASE(close_while_releasing,
     "Closing a client in the middle of a release completes the release.")
{
    end_in_the_middle(0, true, false);
    end_in_the_middle(REDLOCK_THREAD, true, false);
}

CASE(free_while_extending, "Freeing a handle in the middle of an extension releases the lock.")
{
    end_in_the_middle(0, false, true);
    end_in_the_middle(REDLOCK_THREAD, false, true);
}

CASE(free_while_releasing, "Freeing a handle in the middle of a release completes the release.")
{
    end_in_the_middle(0, true, true);
    end_in_the_middle(REDLOCK_THREAD, true, true);
}

CASE_NODES(handles_outlive_the_client,
           "Every accessor of a handle still answers after its client was closed.", .nodes = 1)
{
    redlock_lock *lock;
    r = client_open(c, 0);
    lock = client_lock(r, "x", 10000);
    client_close(r);
    CHECK_STR("x", redlock_name(lock));
    CHECK(redlock_value(lock) != NULL);
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_deadline_ns(lock));
    redlock_margin(lock);
    redlock_lock_report(lock);
    CHECK(redlock_release(lock) < 0);
    CHECK(redlock_extend(lock, 2000) < 0);
    redlock_cancel(lock);
    redlock_lock_free(lock);
}
