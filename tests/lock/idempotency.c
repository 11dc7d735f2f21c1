/* SPDX-License-Identifier: BSD-2-Clause */
/* Idempotency keys: a lock is released by its key, and a key is granted once. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"

#include <stdio.h>
#include <time.h>

CASES_BEGIN_WITH(pair_begin);

enum { TTL_MS = LONG_TTL_MS };
#define KEY "AZaz09_-AZaz09_-AZaz09"

#define OTHER_KEY "BZaz09_-AZaz09_-AZaz09"

static redlock_lock *keyed(enum shape shape, const char *key)
{
    redlock_request q = shape_request(shape);
    redlock_lock *lock;
    q.idempotency_key = key;
    q.label = "AZaz09_-AZaz09_-AZaz09:"; /* a key in a label is none */
    lock = client_lock_as(a, "x", TTL_MS, q);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    return lock;
}

CASE(by_key, "A lock of any kind is released by its key, once, and its holder finds it lost.")
{
    FOR_SHAPES(shape)
    {
        redlock_answer *answer = NULL;
        redlock_lock *lock = keyed(shape, KEY);
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release_by_key(b, "x", OTHER_KEY, NULL));
        CHECK_HAS("has that idempotency key", redlock_detail());
        CHECK_INT(3, report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN));
        CHECK_OK(redlock_release_by_key(b, "x", KEY, &answer));
        CHECK_INT(3, answer->report->holder.votes);
        CHECK_STR(redlock_value(lock), answer->report->holder.value);
        CHECK_BETWEEN(1, TTL_MS, answer->report->holder.remaining_ms);
        redlock_answer_free(answer);
        CHECK_INT(0, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release_by_key(b, "x", KEY, NULL));
        CHECK_INT(3, report_votes(redlock_failure_report(), REDLOCK_VOTE_MISSING));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        redlock_lock_free(lock);
        client_warm(a);
        CHECK(kind_await_clean(&c));
    }
}

CASE(by_key_beside_others, "Beside a lock with the key, those of other keys and of none stay.")
{
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        redlock_lock *lock, *other, *plain;
        if (!shape_may_be_held_twice(shape))
            continue;
        q.slots = q.slots ? 4 : 0;
        q.idempotency_key = KEY;
        lock = client_lock_as(a, "x", TTL_MS, q);
        q.idempotency_key = OTHER_KEY;
        other = client_lock_as(a, "x", TTL_MS, q);
        q.idempotency_key = NULL;
        plain = client_lock_as(a, "x", TTL_MS, q);
        CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
        CHECK_OK(redlock_release_by_key(b, "x", KEY, NULL));
        CHECK_INT(0, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_OK(redlock_extend(other, TTL_MS));
        CHECK_OK(redlock_extend(plain, TTL_MS));
        redlock_lock_free(lock);
        client_unlock(other);
        client_unlock(plain);
        CHECK(kind_await_clean(&c));
    }
}

CASE(by_key_leftovers,
     "Different values with one key on different nodes all go, and it is reported.")
{
    redlock_answer *answer = NULL;
    const char *values[] = {KEY ":one", KEY ":two", "another"};
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "SET", "redlock:x", values[i], "PX", "20000", NULL);
    CHECK_OK(redlock_release_by_key(b, "x", KEY, &answer));
    CHECK_INT(2, answer->report->holder.votes);
    redlock_answer_free(answer);
    CHECK_INT(1, cluster_count(&c, "redlock:x"));
    CHECK_STR("another", server_cmd(&c.node[2], "GET", "redlock:x", NULL));
    cluster_del(&c, 2, 1, "redlock:x");
    /* One node may have several: readers of two attempts. */
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "ZADD", "redlock:x", "9000000000000", KEY ":1", "9000000000000",
                   KEY ":2", "9000000000000", OTHER_KEY ":3", NULL);
    CHECK_OK(redlock_release_by_key(b, "x", KEY, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_INT(1, server_int(&c.node[i], "ZCARD", "redlock:x", NULL));
}

CASE(by_key_bound,
     "One release by key deletes sixteen values on a node, the next one the rest.")
{
    enum { VALUES = REDLOCK_RELEASED_MAX + 1 };
    char ends[32];
    snprintf(ends, sizeof ends, "%lld", (long long)time(NULL) * 1000 + TTL_MS);
    for (int i = 0; i < VALUES; i++) {
        char value[64];
        snprintf(value, sizeof value, KEY ":%040d", i);
        for (int n = 0; n < 3; n++)
            server_cmd(&c.node[n], "ZADD", "redlock:x", ends, value, NULL);
    }
    CHECK_OK(redlock_release_by_key(b, "x", KEY, NULL));
    for (int n = 0; n < 3; n++)
        CHECK_INT(VALUES - REDLOCK_RELEASED_MAX,
                  server_int(&c.node[n], "ZCARD", "redlock:x", NULL));
    CHECK_OK(redlock_release_by_key(b, "x", KEY, NULL));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release_by_key(b, "x", KEY, NULL));
    CHECK(kind_await_clean(&c));
}

CASE(by_key_waits_on,
     "Releasing by the key ends no request of that key that waits: it is served later.")
{
    redlock_lock *other, *lock = NULL;
    other = client_lock(b, "x", TTL_MS);
    lock =
        CLIENT_START(a, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER, .idempotency_key = KEY);
    CHECK(cluster_await(&c, "redlock.queue:x", 3));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release_by_key(b, "x", KEY, NULL));
    CHECK_INT(3, cluster_count(&c, "redlock.queue:x"));
    client_unlock(other);
    EXPECT(a, ACQUIRED, REDLOCK_OK, lock);
    pair_release(lock);
}

CASE(by_key_wakes, "Releasing by the key wakes the waiter, as a release does.")
{
    redlock_lock *lock, *next = NULL;
    lock = keyed(SHAPE_MUTEX, KEY);
    next = CLIENT_START(b, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    CHECK(cluster_await(&c, "redlock.queue:x", 3));
    CHECK_OK(redlock_release_by_key(a, "x", KEY, NULL));
    EXPECT(b, ACQUIRED, REDLOCK_OK, next); /* long before the TTL */
    redlock_lock_leave(lock);
    pair_release(next);
}

CASE(by_key_async, "The asynchronous release by key answers what the blocking one returns.")
{
    redlock_job job = 0;
    redlock_lock *lock = keyed(SHAPE_MUTEX, KEY);
    for (int had = 3; had >= 0; had -= 3) {
        const redlock_event *event;
        CHECK_OK(redlock_start_release_by_key(b, "x", KEY, lock, &job));
        event = EXPECT_ANSWER(b, had ? REDLOCK_OK : REDLOCK_EXPIRED, job);
        CHECK(event->data == lock);
        CHECK_STR("x", event->answer->name);
        CHECK_INT(had, event->answer->report->holder.votes);
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_start_release_by_key(b, "x", "short", NULL, &job));
    redlock_lock_leave(lock);
}

CASE(by_bad_key, "What is no key is INVAL, and too few nodes are NOQUORUM.")
{
    redlock *r = client_open_hasty(&c, 0, STEADY_MS);
    const char *bad[] = {NULL, "", "short", KEY "x", "AZaz09_-AZaz09_-AZaz0:"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_release_by_key(r, "x", bad[i], NULL));
        CHECK_HAS("22 characters", redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_release_by_key(r, "", KEY, NULL));
    client_warm(r);
    server_kill(&c.node[0]);
    server_kill(&c.node[1]);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_release_by_key(r, "x", KEY, NULL));
    CHECK_INT(1, report_votes(redlock_failure_report(), REDLOCK_VOTE_MISSING));
}

/* Which client flags the second request comes with, and whether it waits. */
static void acquire_again(uint32_t flags, uint32_t request_flags)
{
    client_close(b);
    b = client_open_warm(&c, flags);
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        redlock_lock *lock = keyed(shape, KEY), *again = NULL;
        q.idempotency_key = KEY;
        q.flags = request_flags;
        CHECK_ERR(REDLOCK_YOURS, redlock_acquire(b, "x", TTL_MS, &q, &again));
        CHECK_HAS("under the idempotency key of this request", redlock_detail());
        CHECK_STR(redlock_value(lock), redlock_failure_report()->holder.value);
        q.wait_ms = REDLOCK_WAIT_FOREVER; /* and yet it ends at once */
        CHECK_ERR(REDLOCK_YOURS, redlock_acquire(b, "x", TTL_MS, &q, &again));
        CHECK(cluster_await(&c, "redlock.queue:x", 0));
        CHECK_INT(3, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_OK(redlock_extend(lock, TTL_MS));
        pair_release(lock);
    }
}

CASE_OF(granted_once,
        "A request of any kind with a key that is held is YOURS, and waits for nothing.",
        acquire_again(0, 0));

CASE_OF(granted_once_strict, "In strict mode a request with a key that is held is YOURS.",
        acquire_again(REDLOCK_STRICT, 0));

CASE_OF(granted_once_fair, "A fair request with a key that is held is YOURS.",
        acquire_again(REDLOCK_NO_NATIVE, REDLOCK_FAIR));

CASE(granted_once_while_waiting, "A request that waits gets YOURS once its key is granted.")
{
    redlock_lock *other, *late = NULL;
    other = client_lock(a, "x", TTL_MS);
    late =
        CLIENT_START(b, "x", TTL_MS, .idempotency_key = KEY, .wait_ms = REDLOCK_WAIT_FOREVER);
    CHECK(cluster_await(&c, "redlock.queue:x", 3));
    /* The same request came to another client, and was granted there. */
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "SET", "redlock:x",
                   KEY ":0123456789abcdef0123456789abcdef01234567", "PX", "20000", NULL);
    EXPECT(b, ACQUIRED, REDLOCK_YOURS, late); /* at a heartbeat, not at the TTL */
    redlock_lock_free(late);
    redlock_lock_leave(other);
}

CASE(key_on_a_minority, "A key that fewer nodes have, or different values of it, is not YOURS.")
{
    redlock_request q = REDLOCK_REQUEST(.idempotency_key = KEY);
    redlock_lock *lock = NULL;
    const char *values[] = {KEY ":0123456789abcdef0123456789abcdef01234567",
                            KEY ":1123456789abcdef0123456789abcdef01234567",
                            OTHER_KEY ":0123456789abcdef0123456789abcdef01234567"};
    server_cmd(&c.node[0], "SET", "redlock:x", values[0], "PX", "20000", NULL);
    CHECK_OK(redlock_acquire(b, "x", TTL_MS, &q, &lock));
    client_unlock(lock);
    server_cmd(&c.node[1], "SET", "redlock:x", values[1], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    server_cmd(&c.node[2], "SET", "redlock:x", values[2], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    server_cmd(&c.node[1], "SET", "redlock:x", values[0], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_YOURS, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    CHECK_INT(3, cluster_count(&c, "redlock:x"));
}
