/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A waiter decides for how long it waits: a cancel works in every phase, and no end of a wait
 * leaves a place in a queue.
 */
#include "core/lock.h"
#include "crowd.h"
#include "fixture.h"
#include "proxy.h"
#include "waiter.h"

#include <pthread.h>
#include <stdio.h>

enum {
    NODES = 3,
    TTL_MS = LONG_TTL_MS,
};

static redlock_lock *start(redlock *r, const char *name)
{
    redlock_lock *lock = CLIENT_START(r, name, TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    return lock;
}

CASE_NODES(for_ever, "A wait without a deadline lasts longer than the TTL of a queue entry.",
           .nodes = NODES)
{
    redlock_lock *lock;
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    r = client_open_warm(c, REDLOCK_THREAD);
    lock = start(r, "x");
    CHECK(queue_await(c, "x", 1));
    for (int64_t end_ms = now_ms() + RL_WAITER_TTL_MS + 1000; now_ms() < end_ms; sleep_ms(10)) {
        NO_EVENT(r);
        for (int i = 0; i < NODES; i++)
            CHECK_INT(1, queue_length(&c->node[i], "x")); /* never out of it */
    }
    cluster_del(c, 0, NODES, "redlock:x"); /* without a message */
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
    redlock_lock_free(lock);
    client_close(r);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(try_takes_no_place, "A try leaves no queue entry behind, fair or not.",
           .nodes = NODES)
{
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    r = client_open_warm(c, 0);
    for (uint32_t fair = 0; fair <= REDLOCK_FAIR; fair += REDLOCK_FAIR) {
        CHECK_ERR(REDLOCK_BUSY, CLIENT_TRY(r, "x", TTL_MS, .flags = fair));
        for (int i = 0; i < NODES; i++)
            CHECK_INT(1, server_keys(&c->node[i]));
    }
}

static void *cancel_it(void *lock)
{
    CHECK_OK(redlock_cancel(lock));
    return NULL;
}

static void cancel_and_free(redlock *r, redlock_lock *lock)
{
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, cancel_it, lock));
    pthread_join(thread, NULL);
    NO_EVENT(r);
    redlock_lock_free(lock);
}

static void just_free(redlock *r, redlock_lock *lock)
{
    redlock_lock_free(lock);
    NO_EVENT(r);
}

enum { MOMENTS = 16 };

/* No entry of any of the names x0, x1, ... is on any node. */
static bool none_queued(void *data)
{
    const struct cluster *c = data;
    for (int k = 0; k < MOMENTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        for (int i = 0; i < NODES; i++)
            if (queue_length(&c->node[i], name) != 0)
                return false;
    }
    return true;
}

CASE_NODES(cancel_at_any_moment,
           "A cancel works in every phase of a wait and leaves no queue entry.", .nodes = NODES)
{
    enum { STEP_MS = 8, DELAY_MS = 30 };
    struct proxy p[NODES];
    proxies_start(p, c, NODES);
    r = client_open_warm(c, REDLOCK_THREAD);
    for (int i = 0; i < NODES; i++)
        p[i].switches->down_delay_ms = DELAY_MS;
    for (int k = 0; k < MOMENTS; k++) {
        char name[16], key[32];
        redlock_lock *lock;
        snprintf(name, sizeof name, "x%d", k);
        snprintf(key, sizeof key, "redlock:x%d", k);
        cluster_set(c, 0, NODES, key, "another", 60000);
        lock = start(r, name);
        sleep_ms(k * STEP_MS); /* attempt, ticket, entrance, sleep: 30 ms each */
        cancel_and_free(r, lock);
    }
    for (int i = 0; i < NODES; i++)
        p[i].switches->down_delay_ms = 0;
    client_warm(r); /* whatever follows from the last answers has been sent, */
    client_warm(r); /* and has arrived */
    CHECK(none_queued(c));
}

/* First in the queue (0), or behind others of the same client. */
static void end_a_wait(int ahead, void (*end)(redlock *, redlock_lock *))
{
    struct cluster c;
    redlock_lock *mine[4];
    redlock *other = client_start(&c, NODES, 0);
    redlock_lock *lock = client_lock(other, "x", TTL_MS);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 4; i++)
        mine[i] = start(r, "x");
    CHECK(queue_await(&c, "x", 1));
    end(r, mine[ahead]);
    client_unlock(lock);
    for (int i = 0; i < 4; i++) {
        if (i == ahead)
            continue;
        EXPECT(r, ACQUIRED, REDLOCK_OK, mine[i]); /* the others are not held up */
        client_unlock(mine[i]);
    }
    CHECK(cluster_await_empty(&c));
}

CASE_OF(cancel_first, "Canceling the first waiter of a client lets its others through.",
        end_a_wait(0, cancel_and_free));

CASE_OF(cancel_parked,
        "Canceling a waiter in the middle of its client's queue lets the others through.",
        end_a_wait(2, cancel_and_free));

CASE_OF(cancel_last, "Canceling the last waiter of a client leaves the others served.",
        end_a_wait(3, cancel_and_free));

CASE_OF(free_first, "Freeing the handle of a client's first waiter lets its others through.",
        end_a_wait(0, just_free));

CASE_OF(free_parked, "Freeing the handle of a waiter behind others leaves the others served.",
        end_a_wait(1, just_free));

CASE_NODES(close_first_and_parked,
           "Closing a client ends all of its waits and empties the queues.", .nodes = NODES,
           .also = {REDLOCK_THREAD})
{
    redlock_lock *mine[5];
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    r = client_open_warm(c, flags);
    for (int i = 0; i < 5; i++)
        mine[i] = start(r, "x");
    AWAIT_DOING(queue_length(&c->node[0], "x") != 0, next_event(r, 5));
    client_close(r);
    for (int i = 0; i < 5; i++)
        redlock_lock_free(mine[i]);
    CHECK(queue_await_only_the_lock(c));
}
