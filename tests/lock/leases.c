/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks whose value goes from program to program: kept, adopted with their
 * kind, renewed elsewhere. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"

#include <stdio.h>

CASES_BEGIN_WITH(pair_begin);

enum { TTL_MS = LONG_TTL_MS, SHORT_MS = 6000, LOST_MS = 6000 };
#define KEY "AZaz09_-AZaz09_-AZaz09"

static const char *const more_names[] = {"y", "z"};

/* What an adopter gets for a lock of that shape. */
static redlock_request adoption(enum shape shape)
{
    redlock_request q = shape_request(shape);
    return (redlock_request)REDLOCK_REQUEST(.kind = q.kind, .slots = q.slots, .owner = q.owner,
                                            .more_names =
                                                shape == SHAPE_SEVERAL ? more_names : NULL,
                                            .more_name_count = shape == SHAPE_SEVERAL ? 2 : 0);
}

/* Held on all nodes. */
static redlock_lock *held(enum shape shape, uint32_t flags, int64_t ttl_ms)
{
    redlock_request q = shape_request(shape);
    redlock_lock *lock;
    q.flags |= flags;
    lock = client_lock_as(a, "x", ttl_ms, q);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    return lock;
}

CASE(repairs_none, "A lock that others may renew or end is put back on no node that misses it.")
{
    FOR_SHAPES(shape)
    {
        redlock_request q = adoption(shape);
        redlock_lock *lock = held(shape, REDLOCK_KEEP, TTL_MS), *adopted = NULL;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        CHECK_OK(redlock_adopt(b, "x", value, &q, &adopted));
        CHECK_INT(0, redlock_remaining_ms(adopted));
        server_cmd(&c.node[2], "DEL", "redlock:x", NULL);
        CHECK_OK(redlock_extend(adopted, TTL_MS));
        CHECK(redlock_remaining_ms(adopted) > TTL_MS / 2);
        CHECK_OK(redlock_extend(lock, TTL_MS));
        client_warm(a);
        client_warm(b);
        CHECK_INT(2, kind_count_holds(&c, "x", value));
        CHECK_INT(q.slots > 0, redlock_slot(adopted) > 0);
        redlock_lock_free(lock);
        pair_release(adopted);
    }
}

CASE(gone, "Of a lock that is gone, extend says LOST, and release what is true of its kind.")
{
    FOR_SHAPES(shape)
    {
        bool is_mutex = shape_traits(shape) & REDLOCK_KIND_NAMES;
        redlock_request q = adoption(shape);
        redlock_lock *lock = held(shape, 0, TTL_MS), *adopted = NULL, *next;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        client_unlock(lock);
        CHECK_OK(redlock_adopt(b, "x", value, &q, &adopted));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(adopted, TTL_MS));
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(adopted));
        redlock_lock_free(adopted);
        CHECK_OK(redlock_adopt(b, "x", value, &q, &adopted));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release(adopted));
        redlock_lock_free(adopted);
        next = held(shape, 0, TTL_MS);
        CHECK_OK(redlock_adopt(b, "x", value, &q, &adopted));
        /* Others beside it say nothing about a lock that many may hold. */
        CHECK_ERR(is_mutex ? REDLOCK_LOST : REDLOCK_EXPIRED, redlock_release(adopted));
        redlock_lock_free(adopted);
        CHECK_OK(redlock_extend(next, TTL_MS));
        pair_release(next);
    }
}

CASE(fence, "An adopted owner's lock has its token, and so have holds beside it.")
{
    redlock_request q, known;
    redlock_lock *lock, *adopted = NULL, *nested;
    int64_t token;
    q = shape_request(SHAPE_REENTRANT);
    q.flags = REDLOCK_FENCED;
    lock = client_lock_as(a, "x", TTL_MS, q);
    token = redlock_fence(lock);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    known = adoption(SHAPE_REENTRANT);
    known.fence = token;
    CHECK_OK(redlock_adopt(b, "x", redlock_value(lock), &known, &adopted));
    CHECK_INT(token, redlock_fence(adopted));
    CHECK_OK(redlock_extend(adopted, TTL_MS));
    nested = client_lock_as(a, "x", TTL_MS, q);
    CHECK_INT(token, redlock_fence(nested));
    client_unlock(nested);
    redlock_lock_leave(lock);
    pair_release(adopted);
}

CASE(renews,
     "An adopted lock is renewed from its first extension on, and its loss is reported.")
{
    redlock_request q;
    redlock_lock *lock, *adopted = NULL;
    int64_t first_ns, end_ms;
    char value[REDLOCK_VALUE_MAX + 1];
    q = adoption(SHAPE_MUTEX);
    q.flags = REDLOCK_RENEW;
    lock = held(SHAPE_MUTEX, 0, TTL_MS);
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    redlock_lock_leave(lock);
    CHECK_OK(redlock_adopt(b, "x", value, &q, &adopted));
    CHECK_OK(redlock_extend(adopted, SHORT_MS));
    first_ns = redlock_deadline_ns(adopted);
    end_ms = now_ms() + GIVE_UP_MS;
    while (redlock_deadline_ns(adopted) <= first_ns && now_ms() < end_ms)
        sleep_ms(20);
    CHECK(redlock_deadline_ns(adopted) > first_ns);
    cluster_del(&c, 0, 3, "redlock:x");
    EXPECT(b, LOST, REDLOCK_LOST, adopted);
}

CASE(bad_adoptions, "What an adoption cannot mean is INVAL, with the reason.")
{
    redlock_lock *lock = NULL;
    redlock *alone;
    const char *value = "0123456789abcdef0123456789abcdef01234567";
    const char *slot = "0123456789abcdef0123456789abcdef01234567#3";
    redlock_request q = REDLOCK_REQUEST();
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
        {{.wait_ms = 1000}, value, "wait_ms"},
        {{.idempotency_key = KEY}, value, "idempotency_key"},
        {{.kind = 9}, value, "kind"},
        {{0}, "", "value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        redlock_request wrong = bad[i].q;
        wrong.size = sizeof wrong;
        CHECK_ERR(REDLOCK_INVAL, redlock_adopt(b, "x", bad[i].value, &wrong, &lock));
        CHECK_HAS(bad[i].reason, redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt(b, "x", value, &q, NULL));
    q.fence = 5;
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(b, "x", TTL_MS, &q, &lock));
    CHECK_HAS("fence", redlock_detail());
    alone = client_open(&c, 0);
    q = (redlock_request)REDLOCK_REQUEST(.flags = REDLOCK_RENEW);
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt(alone, "x", value, &q, &lock));
    CHECK_HAS("nothing drives", redlock_detail());
}

CASE(kept_when_lost, "A kept lock that another client renews outlives the loss of its handle.")
{
    const char *names[SHAPES];
    redlock_lock *lock[SHAPES], *adopted[SHAPES];
    struct tally tally[SHAPES] = {0};
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape), known = adoption(shape);
        q.flags |= REDLOCK_KEEP;
        q.data = &tally[shape];
        names[shape] = shape == SHAPE_SEVERAL ? "x" : shape_text(shape);
        lock[shape] = client_lock_as(a, names[shape], LOST_MS, q);
        CHECK(kind_await_holds(&c, names[shape], redlock_value(lock[shape]), 3));
        CHECK_OK(redlock_adopt(b, names[shape], redlock_value(lock[shape]), &known,
                               &adopted[shape]));
        CHECK_OK(redlock_extend(adopted[shape], TTL_MS));
    }
    for (int i = 0; i < SHAPES; i++)
        DRAIN_UNTIL(a, &tally[i], LOST, 1);
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
    CHECK(kind_await_clean(&c));
}

CASE(kept_when_freed,
     "Freeing the handle of a kept lock, or closing, leaves it; release does not.")
{
    FOR_SHAPES(shape)
    {
        redlock_request known = adoption(shape);
        redlock_lock *lock = held(shape, REDLOCK_KEEP, TTL_MS), *adopted = NULL;
        char value[REDLOCK_VALUE_MAX + 1];
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_lock_free(lock);
        client_warm(a);
        CHECK_INT(3, kind_count_holds(&c, "x", value));
        CHECK_OK(redlock_adopt(b, "x", value, &known, &adopted));
        pair_release(adopted);

        lock = held(shape, REDLOCK_KEEP, TTL_MS);
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        client_close(a);
        CHECK_INT(3, kind_count_holds(&c, "x", value));
        redlock_lock_free(lock);
        a = client_open_warm(&c, REDLOCK_THREAD);
        CHECK_OK(redlock_adopt(b, "x", value, &known, &adopted));
        pair_release(adopted);

        pair_release(held(shape, REDLOCK_KEEP, TTL_MS));
    }
}

CASE(kept_only_when_handed_out,
     "A kept request that is freed or canceled while it waits leaves nothing.")
{
    redlock_lock *other, *lock = NULL;
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .wait_ms = REDLOCK_WAIT_FOREVER);
    other = client_lock(b, "x", TTL_MS);
    CHECK_OK(redlock_start_acquire(a, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3));
    redlock_lock_free(lock);
    CHECK(cluster_await(&c, "redlock.queue:x", 0));
    CHECK_OK(redlock_start_acquire(a, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3));
    CHECK_OK(redlock_cancel(lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 0));
    NO_EVENT(a);
    redlock_lock_free(lock);
    pair_release(other);
}

CASE(granted_untold, "A kept lock that is freed before its grant was read is released.")
{
    redlock *r;
    redlock_lock *first = NULL, *other = NULL;
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_KEEP);
    r = client_open_warm(&c, 0);
    CHECK_OK(redlock_start_acquire(r, "y", TTL_MS, &q, &first));
    CHECK_OK(redlock_start_acquire(r, "x", TTL_MS, &q, &other));
    EXPECT(r, ACQUIRED, REDLOCK_OK, first);
    redlock_lock_free(other);
    NO_EVENT(r);
    redlock_lock_free(first);
    client_warm(r);
    CHECK(cluster_await(&c, "redlock:x", 0));
    CHECK(cluster_await(&c, "redlock:y", 3)); /* its notice of this one came */
}

CASE(bad_keep, "A kept lock cannot be bound to a thread.")
{
    CHECK_ERR(REDLOCK_INVAL, CLIENT_TRY(a, "x", TTL_MS, .flags = REDLOCK_KEEP | REDLOCK_BOUND));
    CHECK_HAS("contradict", redlock_detail());
}
