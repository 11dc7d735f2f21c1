/* SPDX-License-Identifier: BSD-2-Clause */
/* Tags of requests: a lock is released by its tag, and a tag is granted once. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TTL_MS = 20000 };
#define TAG "AZaz09_-AZaz09_-AZaz09"

/* ---- released by the tag ---- */

#define OTHER_TAG "BZaz09_-AZaz09_-AZaz09"

static redlock_lock *tagged(enum shape shape, const char *tag)
{
    redlock_request q = shape_request(shape);
    q.tag = tag;
    q.label = "AZaz09_-AZaz09_-AZaz09:"; /* a tag in a label is none */
    redlock_lock *lock = kind_lock(a, "x", TTL_MS, q);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3, 10000));
    return lock;
}

CASE(by_tag, "A lock of any kind is released by its tag, once, and its holder finds it lost.")
{
    pair_begin();
    FOR_SHAPES(shape)
    {
        redlock_report report = {.size = sizeof report};
        redlock_lock *lock = tagged(shape, TAG);
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release_tagged(b, "x", OTHER_TAG, &report));
        CHECK_HAS("has that tag", redlock_detail());
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_TAKEN));
        CHECK_OK(redlock_release_tagged(b, "x", TAG, &report));
        CHECK_INT(3, report.holder.votes);
        CHECK_STR(redlock_value(lock), report.holder.value);
        CHECK_BETWEEN(1, TTL_MS, report.holder.ttl_ms);
        CHECK_INT(0, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release_tagged(b, "x", TAG, &report));
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_MISSING));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        redlock_lock_free(lock);
        client_warm(a);
        CHECK(kind_await_clean(&c, 10000));
    }
    pair_end();
}

CASE(by_tag_beside_others, "Beside a lock with the tag, those of other tags and of none stay.")
{
    pair_begin();
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        if (!shape_may_be_held_twice(shape))
            continue;
        q.slots = q.slots ? 4 : 0;
        q.tag = TAG;
        redlock_lock *lock = kind_lock(a, "x", TTL_MS, q);
        q.tag = OTHER_TAG;
        redlock_lock *other = kind_lock(a, "x", TTL_MS, q);
        q.tag = NULL;
        redlock_lock *plain = kind_lock(a, "x", TTL_MS, q);
        CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3, 10000));
        CHECK_OK(redlock_release_tagged(b, "x", TAG, NULL));
        CHECK_INT(0, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_OK(redlock_extend(other, TTL_MS));
        CHECK_OK(redlock_extend(plain, TTL_MS));
        redlock_lock_free(lock);
        client_unlock(other);
        client_unlock(plain);
        CHECK(kind_await_clean(&c, 10000));
    }
    pair_end();
}

CASE(by_tag_leftovers,
     "Different values with one tag on different nodes all go, and it is told.")
{
    pair_begin();
    redlock_report report = {.size = sizeof report};
    const char *values[] = {TAG ":one", TAG ":two", "another"};
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "SET", "redlock:x", values[i], "PX", "20000", NULL);
    CHECK_OK(redlock_release_tagged(b, "x", TAG, &report));
    CHECK_INT(2, report.holder.votes);
    CHECK_INT(1, cluster_count(&c, "redlock:x"));
    CHECK_STR("another", server_cmd(&c.node[2], "GET", "redlock:x", NULL));
    cluster_del(&c, 2, 1, "redlock:x");
    /* One node may have several: readers of two attempts. */
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "ZADD", "redlock:x", "9000000000000", TAG ":1", "9000000000000",
                   TAG ":2", "9000000000000", OTHER_TAG ":3", NULL);
    CHECK_OK(redlock_release_tagged(b, "x", TAG, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_INT(1, server_int(&c.node[i], "ZCARD", "redlock:x", NULL));
    pair_end();
}

CASE(by_tag_bound,
     "One release by tag deletes sixteen values on a node, the next one the rest.")
{
    pair_begin();
    enum { VALUES = REDLOCK_TAGGED_MAX + 1 };
    char ends[32];
    snprintf(ends, sizeof ends, "%lld", (long long)time(NULL) * 1000 + TTL_MS);
    for (int i = 0; i < VALUES; i++) {
        char value[64];
        snprintf(value, sizeof value, TAG ":%040d", i);
        for (int n = 0; n < 3; n++)
            server_cmd(&c.node[n], "ZADD", "redlock:x", ends, value, NULL);
    }
    CHECK_OK(redlock_release_tagged(b, "x", TAG, NULL));
    for (int n = 0; n < 3; n++)
        CHECK_INT(VALUES - REDLOCK_TAGGED_MAX,
                  server_int(&c.node[n], "ZCARD", "redlock:x", NULL));
    CHECK_OK(redlock_release_tagged(b, "x", TAG, NULL));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release_tagged(b, "x", TAG, NULL));
    CHECK(kind_await_clean(&c, 10000));
    pair_end();
}

CASE(by_tag_waits_on,
     "Releasing by the tag ends no request of that tag that waits: it is served later.")
{
    pair_begin();
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .tag = TAG,
                         .done = result_note,
                         .data = &result};
    redlock_lock *other = client_lock(b, "x", TTL_MS), *lock = NULL;
    CHECK_OK(redlock_start(a, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release_tagged(b, "x", TAG, NULL));
    CHECK_INT(3, cluster_count(&c, "redlock.queue:x"));
    client_unlock(other);
    CHECK(wait_until(result_is_told, &result, 10000));
    CHECK_OK(result.error);
    pair_release(lock);
    pair_end();
}

CASE(by_tag_wakes, "Releasing by the tag wakes the waiter, as a release does.")
{
    pair_begin();
    redlock_lock *lock = tagged(SHAPE_MUTEX, TAG), *next = NULL;
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = result_note,
                         .data = &result};
    CHECK_OK(redlock_start(b, "x", TTL_MS, &q, &next));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    CHECK_OK(redlock_release_tagged(a, "x", TAG, NULL));
    CHECK(wait_until(result_is_told, &result, 10000)); /* long before the TTL */
    CHECK_OK(result.error);
    redlock_lock_leave(lock);
    pair_release(next);
    pair_end();
}

struct answered {
    _Atomic int calls, error, votes;
};

static void note_answer(int error, const redlock_answer *answer, void *data)
{
    struct answered *told = data;
    CHECK_STR("x", answer->name);
    told->error = error;
    told->votes = answer->report ? (int)answer->report->holder.votes : -1;
    told->calls++;
}

static bool is_answered(void *data)
{
    return ((struct answered *)data)->calls > 0;
}

CASE(by_tag_async, "The asynchronous release by tag answers what the blocking one returns.")
{
    pair_begin();
    struct answered told = {0};
    redlock_lock *lock = tagged(SHAPE_MUTEX, TAG);
    CHECK_OK(redlock_start_release_tagged(b, "x", TAG, note_answer, &told));
    CHECK(wait_until(is_answered, &told, 10000));
    CHECK_OK(told.error);
    CHECK_INT(3, told.votes);
    told.calls = 0;
    CHECK_OK(redlock_start_release_tagged(b, "x", TAG, note_answer, &told));
    CHECK(wait_until(is_answered, &told, 10000));
    CHECK_INT(REDLOCK_EXPIRED, told.error);
    CHECK_INT(0, told.votes);
    CHECK_ERR(REDLOCK_INVAL, redlock_start_release_tagged(b, "x", TAG, NULL, &told));
    redlock_lock_leave(lock);
    pair_end();
}

CASE(by_bad_tag, "What is no tag is INVAL, and too few nodes are NOQUORUM.")
{
    redlock *r = client_start_hasty(&c, 3, 0, STEADY_MS);
    redlock_report report = {.size = sizeof report};
    const char *bad[] = {NULL, "", "short", TAG "x", "AZaz09_-AZaz09_-AZaz0:"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_release_tagged(r, "x", bad[i], NULL));
        CHECK_HAS("22 characters", redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_release_tagged(r, "", TAG, NULL));
    server_kill(&c.node[0]);
    server_kill(&c.node[1]);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_release_tagged(r, "x", TAG, &report));
    CHECK_INT(1, report_votes(&report, REDLOCK_VOTE_MISSING));
    redlock_close(r);
}

/* ---- a tag is granted once ---- */

/* Which client flags the second request comes with, and whether it waits. */
static void ask_again(uint32_t flags, uint32_t request_flags)
{
    a = client_start(&c, 3, REDLOCK_THREAD);
    b = client_open_warm(&c, flags);
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        redlock_report report = {.size = sizeof report};
        redlock_lock *lock = tagged(shape, TAG), *again = NULL;
        q.tag = TAG;
        q.report = &report;
        q.flags = request_flags;
        CHECK_ERR(REDLOCK_YOURS, client_acquire(b, "x", TTL_MS, &q, &again));
        CHECK_HAS("under the tag of this request", redlock_detail());
        CHECK_STR(redlock_value(lock), report.holder.value);
        q.wait_ms = REDLOCK_WAIT_FOREVER; /* and yet it ends at once */
        CHECK_ERR(REDLOCK_YOURS, client_acquire(b, "x", TTL_MS, &q, &again));
        CHECK(cluster_await(&c, "redlock.queue:x", 0, 10000));
        CHECK_INT(3, kind_count_holds(&c, "x", redlock_value(lock)));
        CHECK_OK(redlock_extend(lock, TTL_MS));
        pair_release(lock);
    }
    pair_end();
}

CASE(granted_once,
     "A request of any kind with a tag that is held is YOURS, and waits for nothing.")
{
    ask_again(0, 0);
}

CASE(granted_once_strict, "In strict mode a request with a tag that is held is YOURS.")
{
    ask_again(REDLOCK_STRICT, 0);
}

CASE(granted_once_fair, "A fair request with a tag that is held is YOURS.")
{
    ask_again(REDLOCK_NO_NATIVE, REDLOCK_FAIR);
}

CASE(granted_once_while_waiting, "A request that waits is told YOURS once its tag is granted.")
{
    pair_begin();
    redlock_lock *other = client_lock(a, "x", TTL_MS), *late = NULL;
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .tag = TAG,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = result_note,
                         .data = &result};
    CHECK_OK(redlock_start(b, "x", TTL_MS, &q, &late));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    /* The same request came to another client, and was granted there. */
    for (int i = 0; i < 3; i++)
        server_cmd(&c.node[i], "SET", "redlock:x",
                   TAG ":0123456789abcdef0123456789abcdef01234567", "PX", "20000", NULL);
    CHECK(wait_until(result_is_told, &result, 15000)); /* at a heartbeat, not at the TTL */
    CHECK_INT(REDLOCK_YOURS, result.error);
    redlock_lock_free(late);
    redlock_lock_leave(other);
    pair_end();
}

CASE(tag_on_a_minority, "A tag that fewer nodes have, or different values of it, is not YOURS.")
{
    pair_begin();
    redlock_request q = {.size = sizeof q, .tag = TAG};
    redlock_lock *lock = NULL;
    const char *values[] = {TAG ":0123456789abcdef0123456789abcdef01234567",
                            TAG ":1123456789abcdef0123456789abcdef01234567",
                            OTHER_TAG ":0123456789abcdef0123456789abcdef01234567"};
    server_cmd(&c.node[0], "SET", "redlock:x", values[0], "PX", "20000", NULL);
    CHECK_OK(client_acquire(b, "x", TTL_MS, &q, &lock));
    client_unlock(lock);
    server_cmd(&c.node[1], "SET", "redlock:x", values[1], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    server_cmd(&c.node[2], "SET", "redlock:x", values[2], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    server_cmd(&c.node[1], "SET", "redlock:x", values[0], "PX", "20000", NULL);
    CHECK_ERR(REDLOCK_YOURS, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    CHECK_INT(3, cluster_count(&c, "redlock:x"));
    pair_end();
}
