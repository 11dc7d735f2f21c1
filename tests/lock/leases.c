/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks whose value goes from program to program: kept, adopted with their kind, renewed elsewhere. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pulse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TTL_MS = 20000, SHORT_MS = 3000, LOST_MS = 6000 };
#define TAG "AZaz09_-AZaz09_-AZaz09"

static struct cluster c;
static redlock *a, *b;

static void begin(void)
{
    a = client_start(&c, 3, REDLOCK_THREAD);
    b = client_open_warm(&c, REDLOCK_THREAD);
}

static void end(void)
{
    redlock_close(a);
    redlock_close(b);
}

static const char *const more_names[] = {"y", "z"};

/* What an adopter is told of a lock of that shape. */
static redlock_request adoption(enum shape shape)
{
    redlock_request q = shape_request(shape);
    return (redlock_request){
        .size = sizeof q,
        .kind = q.kind,
        .slots = q.slots,
        .owner = q.owner,
        .more_names = shape == SHAPE_SEVERAL ? more_names : NULL,
        .more_name_count = shape == SHAPE_SEVERAL ? 2 : 0,
    };
}

/* Held on all nodes. */
static redlock_lock *held(enum shape shape, uint32_t flags, int64_t ttl_ms)
{
    redlock_request q = shape_request(shape);
    q.flags |= flags;
    redlock_lock *lock = kind_lock(a, "x", ttl_ms, q);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3, 10000));
    return lock;
}

static void release(redlock_lock *lock)
{
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    CHECK(kind_await_clean(&c, 10000));
}

/* ---- adopted with the kind ---- */

CASE(heals, "A lock adopted with its kind is put back, when extended, on nodes that miss it.")
{
    begin();
    FOR_SHAPES(shape)
    {
        redlock_request q = adoption(shape);
        redlock_lock *lock = held(shape, 0, TTL_MS), *adopted = NULL;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_lock_leave(lock);
        CHECK_OK(redlock_adopt_as(b, "x", value, &q, &adopted));
        CHECK_INT(0, redlock_remaining_ms(adopted));
        server_cmd(&c.node[2], "DEL", "redlock:x", NULL);
        CHECK_OK(redlock_extend(adopted, TTL_MS));
        CHECK(redlock_remaining_ms(adopted) > TTL_MS / 2);
        CHECK(kind_await_holds(&c, "x", value, 3, 10000));
        CHECK_INT(q.slots > 0, redlock_slot(adopted) > 0);
        release(adopted);
    }
    end();
}

CASE(heals_no_other, "A lock of which only the value is known is put back on no node.")
{
    begin();
    redlock_lock *lock = held(SHAPE_MUTEX, 0, TTL_MS), *adopted = NULL;
    CHECK_OK(redlock_adopt(b, "x", redlock_value(lock), &adopted));
    server_cmd(&c.node[2], "DEL", "redlock:x", NULL);
    CHECK_OK(redlock_extend(adopted, TTL_MS));
    client_warm(b);
    CHECK_INT(2, cluster_count(&c, "redlock:x"));
    redlock_lock_leave(lock);
    release(adopted);
    end();
}

CASE(gone, "Of a lock that is gone, extend says LOST, and release what is true of its kind.")
{
    begin();
    FOR_SHAPES(shape)
    {
        bool is_mutex = shape_traits(shape) & REDLOCK_KIND_NAMES;
        redlock_request q = adoption(shape);
        redlock_lock *lock = held(shape, 0, TTL_MS), *adopted = NULL, *next;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        client_unlock(lock);
        CHECK_OK(redlock_adopt_as(b, "x", value, &q, &adopted));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(adopted, TTL_MS));
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(adopted));
        redlock_lock_free(adopted);
        CHECK_OK(redlock_adopt_as(b, "x", value, &q, &adopted));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release(adopted));
        redlock_lock_free(adopted);
        next = held(shape, 0, TTL_MS);
        CHECK_OK(redlock_adopt_as(b, "x", value, &q, &adopted));
        /* Others beside it say nothing about a lock that many may hold. */
        CHECK_ERR(is_mutex ? REDLOCK_LOST : REDLOCK_EXPIRED, redlock_release(adopted));
        redlock_lock_free(adopted);
        CHECK_OK(redlock_extend(next, TTL_MS));
        release(next);
    }
    end();
}

CASE(fence,
     "An adopted owner's lock has its token, and so has the node that it is put back on.")
{
    begin();
    redlock_request q = shape_request(SHAPE_REENTRANT);
    q.flags = REDLOCK_FENCED;
    redlock_lock *lock = kind_lock(a, "x", TTL_MS, q), *adopted = NULL;
    int64_t token = redlock_fence(lock);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3, 10000));
    redlock_request known = adoption(SHAPE_REENTRANT);
    known.fence = token;
    CHECK_OK(redlock_adopt_as(b, "x", redlock_value(lock), &known, &adopted));
    CHECK_INT(token, redlock_fence(adopted));
    server_cmd(&c.node[0], "DEL", "redlock:x", NULL);
    CHECK_OK(redlock_extend(adopted, TTL_MS));
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3, 10000));
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)token);
    client_warm(b); /* the answer to the healing has come ... */
    client_warm(b); /* ... and the node has the token that follows it */
    CHECK_STR(digits, server_cmd(&c.node[0], "HGET", "redlock:x", "fence", NULL));
    redlock_lock *nested = kind_lock(a, "x", TTL_MS, q);
    CHECK_INT(token, redlock_fence(nested));
    client_unlock(nested);
    redlock_lock_leave(lock);
    release(adopted);
    end();
}

CASE(renews, "An adopted lock is renewed from its first extension on, and its loss is told.")
{
    begin();
    struct result lost = {0};
    redlock_request q = adoption(SHAPE_MUTEX);
    q.flags = REDLOCK_RENEW;
    q.lost = result_note;
    q.data = &lost;
    redlock_lock *lock = held(SHAPE_MUTEX, 0, TTL_MS), *adopted = NULL;
    char value[REDLOCK_VALUE_MAX + 1];
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    redlock_lock_leave(lock);
    CHECK_OK(redlock_adopt_as(b, "x", value, &q, &adopted));
    CHECK_OK(redlock_extend(adopted, SHORT_MS));
    int64_t first_ns = redlock_deadline_ns(adopted);
    int64_t end_ms = now_ms() + 10 * SHORT_MS;
    while (redlock_deadline_ns(adopted) <= first_ns && now_ms() < end_ms && !lost.calls)
        sleep_ms(20);
    CHECK(redlock_deadline_ns(adopted) > first_ns || pulse_late_ms() > SHORT_MS / 4);
    cluster_del(&c, 0, 3, "redlock:x");
    CHECK(wait_until(result_is_told, &lost, 10 * SHORT_MS));
    CHECK_INT(REDLOCK_LOST, lost.error);
    redlock_lock_free(adopted);
    end();
}

CASE(bad_adoptions, "What an adoption cannot mean is INVAL, with the reason.")
{
    begin();
    redlock_lock *lock = NULL;
    const char *value = "0123456789abcdef0123456789abcdef01234567";
    const char *slot = "0123456789abcdef0123456789abcdef01234567#3";
    redlock_request q = {.size = sizeof q};
    const struct {
        redlock_request q;
        const char *value;
        const char *reason;
    } bad[] = {
        {{.kind = REDLOCK_REENTRANT}, value, "owner"},
        {{.kind = REDLOCK_SEMAPHORE, .slots = 2}, value, "slots"},
        {{.kind = REDLOCK_SEMAPHORE, .slots = 2}, slot, "2 slots"},
        {{.kind = REDLOCK_SHARED}, slot, "slot 3"},
        {{.kind = REDLOCK_SHARED, .fence = 7}, value, "token"},
        {{.fence = -1}, value, "token"},
        {{.flags = REDLOCK_FENCED}, value, "flags"},
        {{.flags = REDLOCK_KEEP}, value, "flags"},
        {{.wait_ms = 1}, value, "wait_ms"},
        {{.tag = TAG}, value, "tag"},
        {{.kind = 9}, value, "kind"},
        {{0}, "", "value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        redlock_request wrong = bad[i].q;
        wrong.size = sizeof wrong;
        CHECK_ERR(REDLOCK_INVAL, redlock_adopt_as(b, "x", bad[i].value, &wrong, &lock));
        CHECK_HAS(bad[i].reason, redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt_as(b, "x", value, NULL, &lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt_as(b, "x", value, &q, NULL));
    q.fence = 5;
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    CHECK_HAS("fence", redlock_detail());
    redlock *alone = client_open(&c, 0);
    q = (redlock_request){.size = sizeof q, .flags = REDLOCK_RENEW};
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt_as(alone, "x", value, &q, &lock));
    CHECK_HAS("nothing drives", redlock_detail());
    redlock_close(alone);
    end();
}

/* ---- kept ---- */

CASE(kept_when_lost, "A kept lock that another client renews outlives the loss of its handle.")
{
    const char *names[SHAPES];
    redlock_lock *lock[SHAPES], *adopted[SHAPES];
    struct result lost[SHAPES] = {{0}};
    begin();
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape), known = adoption(shape);
        q.flags |= REDLOCK_KEEP;
        q.lost = result_note;
        q.data = &lost[shape];
        names[shape] = shape == SHAPE_SEVERAL ? "x" : shape_text(shape);
        lock[shape] = kind_lock(a, names[shape], LOST_MS, q);
        CHECK(kind_await_holds(&c, names[shape], redlock_value(lock[shape]), 3, LOST_MS));
        CHECK_OK(redlock_adopt_as(b, names[shape], redlock_value(lock[shape]), &known,
                                  &adopted[shape]));
        CHECK_OK(redlock_extend(adopted[shape], TTL_MS));
    }
    for (int i = 0; i < SHAPES; i++)
        CHECK(wait_until(result_is_told, &lost[i], 10 * LOST_MS));
    sleep_ms(200); /* a sweep would come at the deadline, a moment after the notice */
    client_warm(a);
    FOR_SHAPES(shape)
    {
        CHECK_INT(3, kind_count_holds(&c, names[shape], redlock_value(lock[shape])));
        redlock_lock_free(lock[shape]);
        client_warm(a);
        CHECK_OK(redlock_extend(adopted[shape], TTL_MS));
        CHECK_OK(redlock_release(adopted[shape]));
        redlock_lock_free(adopted[shape]);
    }
    CHECK(kind_await_clean(&c, 10000));
    end();
}

CASE(kept_when_freed,
     "Freeing the handle of a kept lock, or closing, leaves it; release does not.")
{
    begin();
    FOR_SHAPES(shape)
    {
        redlock_request known = adoption(shape);
        redlock_lock *lock = held(shape, REDLOCK_KEEP, TTL_MS), *adopted = NULL;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_lock_free(lock);
        client_warm(a);
        CHECK_INT(3, kind_count_holds(&c, "x", value));
        CHECK_OK(redlock_adopt_as(b, "x", value, &known, &adopted));
        release(adopted);

        lock = held(shape, REDLOCK_KEEP, TTL_MS);
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_close(a);
        CHECK_INT(3, kind_count_holds(&c, "x", value));
        redlock_lock_free(lock);
        a = client_open_warm(&c, REDLOCK_THREAD);
        CHECK_OK(redlock_adopt_as(b, "x", value, &known, &adopted));
        release(adopted);

        release(held(shape, REDLOCK_KEEP, TTL_MS));
    }
    end();
}

CASE(kept_only_when_told,
     "A kept request that is freed or canceled while it waits leaves nothing.")
{
    begin();
    redlock_lock *other = client_lock(b, "x", TTL_MS), *lock = NULL;
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .flags = REDLOCK_KEEP,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = result_note,
                         .data = &result};
    CHECK_OK(redlock_start(a, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    redlock_lock_free(lock);
    CHECK(cluster_await(&c, "redlock.queue:x", 0, 10000));
    CHECK_OK(redlock_start(a, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    CHECK_OK(redlock_cancel(lock));
    CHECK(wait_until(result_is_told, &result, 10000));
    CHECK_INT(REDLOCK_CANCELED, result.error);
    redlock_lock_free(lock);
    release(other);
    end();
}

/* Frees another handle, of which no grant has been told. */
static void free_other(redlock_lock *lock, int error, void *data)
{
    redlock_lock **other = data;
    CHECK_OK(error);
    if (lock != *other && *other) {
        redlock_lock_free(*other);
        *other = NULL;
    }
}

CASE(granted_untold, "A kept lock that is freed before its grant was told is released.")
{
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, 0);
    redlock_lock *first = NULL, *other = NULL;
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_KEEP, .done = free_other, .data = &other};
    CHECK_OK(redlock_start(r, "y", TTL_MS, &q, &first));
    CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &other));
    while (other)
        CHECK(redlock_process(r, 100) >= 0);
    redlock_lock_free(first);
    client_warm(r);
    CHECK(cluster_await(&c, "redlock:x", 0, 10000));
    CHECK(cluster_await(&c, "redlock:y", 3, 10000)); /* of this one it was told */
    redlock_close(r);
}

CASE(bad_keep, "A kept lock cannot be bound to a thread.")
{
    begin();
    redlock_lock *lock = NULL;
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_KEEP | REDLOCK_BOUND};
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(a, "x", TTL_MS, &q, &lock));
    CHECK_HAS("contradict", redlock_detail());
    end();
}

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
    begin();
    FOR_SHAPES(shape)
    {
        redlock_report report = {.size = sizeof report};
        redlock_lock *lock = tagged(shape, TAG);
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release_tagged(b, "x", OTHER_TAG, &report));
        CHECK_HAS("has that tag", redlock_detail());
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_HELD));
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
    end();
}

CASE(by_tag_beside_others, "Beside a lock with the tag, those of other tags and of none stay.")
{
    begin();
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
    end();
}

CASE(by_tag_leftovers,
     "Different values with one tag on different nodes all go, and it is told.")
{
    begin();
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
    end();
}

CASE(by_tag_bound,
     "One release by tag deletes sixteen values on a node, the next one the rest.")
{
    begin();
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
    end();
}

CASE(by_tag_waits_on,
     "Releasing by the tag ends no request of that tag that waits: it is served later.")
{
    begin();
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
    release(lock);
    end();
}

CASE(by_tag_wakes, "Releasing by the tag wakes the waiter, as a release does.")
{
    begin();
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
    release(next);
    end();
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
    begin();
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
    end();
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
        release(lock);
    }
    end();
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
    begin();
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
    end();
}

CASE(tag_on_a_minority, "A tag that fewer nodes have, or different values of it, is not YOURS.")
{
    begin();
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
    end();
}
