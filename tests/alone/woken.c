/* SPDX-License-Identifier: BSD-2-Clause */
/* A release wakes the next waiter by a message, long before the waiter would look by itself. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"
#include "pulse.h"

enum { TTL_MS = 20000 };

/* Held on all nodes. */
static redlock_lock *held(redlock *r, enum shape shape)
{
    redlock_lock *lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    return lock;
}

CASE(woken, "A waiter of every kind is woken by the release of every kind that excludes it.")
{
    pair_begin();
    FOR_SHAPES(holder)
    {
        for (enum shape waiting = SHAPE_MUTEX; waiting < SHAPES; waiting++) {
            struct kind_waiter w;
            redlock_request q = shape_request(waiting);
            redlock_lock *lock;
            int64_t start_ms;
            if (waiting == holder && shape_may_be_held_twice(waiting))
                q = shape_rival(waiting);
            lock = held(a, holder);
            kind_start(b, "x", TTL_MS, q, 20000, &w);
            CHECK(cluster_await(&c, "redlock.queue:x", 3));
            start_ms = now_ms();
            client_unlock(lock);
            KIND_EXPECT(REDLOCK_OK, w);
            CHECK_BETWEEN(0, 200 + SLACK_MS, now_ms() - start_ms);
            client_unlock(w.lock);
            CHECK(cluster_await_empty(&c));
        }
    }
}
