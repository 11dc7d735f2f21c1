/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a lock of every kind: canceled, woken, in order, and seen by other clients. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"

CASES_BEGIN_WITH(pair_begin);

enum { TTL_MS = LONG_TTL_MS };

/* Held on all nodes. */
static redlock_lock *held(redlock *r, enum shape shape)
{
    redlock_lock *lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    return lock;
}

CASE(cancelled,
     "A waiter of any kind that is canceled, freed or timed out leaves nothing on the nodes.")
{
    FOR_SHAPES(shape)
    {
        for (int how = 0; how < 3; how++) {
            struct kind_waiter w;
            redlock_lock *lock = client_lock(a, "x", TTL_MS);
            kind_start(b, "x", TTL_MS, shape_request(shape), how == 2 ? 1000 : 20000, &w);
            if (how != 2) {
                CHECK(cluster_await(&c, "redlock.queue:x", 3));
                AWAIT(redlock_position(w.lock) == 1); /* the answers may be on their way */
            }
            if (how == 0) {
                CHECK_OK(redlock_cancel(w.lock));
                NO_EVENT(w.client);
            } else if (how == 2) {
                KIND_EXPECT(REDLOCK_TIMEOUT, w);
            }
            redlock_lock_free(w.lock);
            CHECK(cluster_await(&c, "redlock.queue:x", 0));
            CHECK(cluster_await(&c, "redlock.alive:x", 0));
            client_unlock(lock);
            CHECK(cluster_await_empty(&c));
        }
    }
}

CASE(fair, "A fair request never overtakes a waiter; of the others only readers wait as well.")
{
    FOR_SHAPES(shape)
    {
        static const char *const waiter = "wffffffffffffffff.1";
        redlock_request q = shape_request(shape);
        redlock_lock *lock = NULL;
        int error;
        for (int i = 0; i < 3; i++) {
            server_cmd(&c.node[i], "ZADD", "redlock.queue:x", "5", waiter, NULL);
            server_cmd(&c.node[i], "ZADD", "redlock.alive:x", "9e15", waiter, NULL);
        }
        error = redlock_acquire(a, "x", TTL_MS, &q, &lock);
        CHECK_ERR(shape == SHAPE_SHARED ? REDLOCK_BUSY : REDLOCK_OK, error);
        if (lock != NULL)
            client_unlock(lock);
        q.flags = REDLOCK_FAIR;
        CHECK_ERR(REDLOCK_BUSY, client_try_as(a, "x", TTL_MS, q));
        q.wait_ms = 1000;
        CHECK_ERR(REDLOCK_TIMEOUT, client_try_as(a, "x", TTL_MS, q));
        for (int i = 0; i < 3; i++) {
            CHECK_INT(1, server_int(&c.node[i], "ZREM", "redlock.queue:x", waiter, NULL));
            server_cmd(&c.node[i], "DEL", "redlock.alive:x", NULL);
        }
        CHECK_OK(client_try_as(a, "x", TTL_MS, q));
        CHECK(cluster_await_empty(&c));
    }
}

CASE(first_come, "Waiters of every kind are served in the order in which they came.")
{
    redlock *third = client_open_warm(&c, REDLOCK_THREAD);
    FOR_SHAPES(shape)
    {
        struct kind_waiter first, second;
        redlock_request q = shape_request(shape), mutex = REDLOCK_REQUEST();
        redlock_lock *lock = client_lock(a, "x", TTL_MS);
        q.flags = mutex.flags = REDLOCK_FAIR;
        kind_start(b, "x", TTL_MS, q, 20000, &first);
        CHECK(cluster_await(&c, "redlock.queue:x", 3));
        kind_start(third, "x", TTL_MS, mutex, 20000, &second);
        AWAIT(redlock_position(second.lock) == 2);
        client_unlock(lock);
        KIND_EXPECT(REDLOCK_OK, first);
        NO_EVENT(second.client);
        client_unlock(first.lock);
        KIND_EXPECT(REDLOCK_OK, second);
        client_unlock(second.lock);
        CHECK(cluster_await_empty(&c));
    }
}

CASE(query, "A query reports the kind, the number of holders, the owner and the waiters.")
{
    FOR_SHAPES(shape)
    {
        redlock_info info;
        struct kind_waiter w;
        bool twice = shape_may_be_held_twice(shape);
        redlock_lock *lock = held(a, shape), *second = twice ? held(a, shape) : NULL;
        kind_start(b, "x", TTL_MS, shape_rival(shape), 20000, &w);
        CHECK(cluster_await(&c, "redlock.alive:x", 3));
        info = client_query(a, "x");
        CHECK_INT(1, info.held);
        CHECK_INT(shape_request(shape).kind, info.kind);
        CHECK_INT(twice ? 2 : 1, info.holder_count);
        CHECK_INT(shape_request(shape).slots, info.slots);
        CHECK_STR(shape_request(shape).owner ? "owner-a" : "", info.owner);
        CHECK_INT(1, info.waiter_count);
        CHECK(info.head[0] == 'w');
        CHECK_BETWEEN(TTL_MS / 2, TTL_MS, info.holder.remaining_ms);
        redlock_lock_free(w.lock);
        client_unlock(lock);
        if (second != NULL)
            client_unlock(second);
        CHECK(cluster_await_empty(&c));
        info = client_query(a, "x");
        CHECK_INT(0, info.held);
        CHECK_INT(-1, info.kind);
        CHECK_INT(0, info.holder_count);
    }
}
