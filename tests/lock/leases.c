/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks whose value goes from program to program: kept, adopted with their kind, renewed elsewhere. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "pair.h"
#include "pulse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 20000, SHORT_MS = 3000, LOST_MS = 6000 };
#define TAG "AZaz09_-AZaz09_-AZaz09"

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

/* ---- adopted with the kind ---- */

CASE(heals, "A lock adopted with its kind is put back, when extended, on nodes that miss it.")
{
    pair_begin();
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
        pair_release(adopted);
    }
    pair_end();
}

CASE(heals_no_other, "A lock of which only the value is known is put back on no node.")
{
    pair_begin();
    redlock_lock *lock = held(SHAPE_MUTEX, 0, TTL_MS), *adopted = NULL;
    CHECK_OK(redlock_adopt(b, "x", redlock_value(lock), &adopted));
    server_cmd(&c.node[2], "DEL", "redlock:x", NULL);
    CHECK_OK(redlock_extend(adopted, TTL_MS));
    client_warm(b);
    CHECK_INT(2, cluster_count(&c, "redlock:x"));
    redlock_lock_leave(lock);
    pair_release(adopted);
    pair_end();
}

CASE(gone, "Of a lock that is gone, extend says LOST, and release what is true of its kind.")
{
    pair_begin();
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
        pair_release(next);
    }
    pair_end();
}

CASE(fence,
     "An adopted owner's lock has its token, and so has the node that it is put back on.")
{
    pair_begin();
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
    pair_release(adopted);
    pair_end();
}

CASE(renews, "An adopted lock is renewed from its first extension on, and its loss is told.")
{
    pair_begin();
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
    pair_end();
}

CASE(bad_adoptions, "What an adoption cannot mean is INVAL, with the reason.")
{
    pair_begin();
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
    pair_end();
}

/* ---- kept ---- */

CASE(kept_when_lost, "A kept lock that another client renews outlives the loss of its handle.")
{
    const char *names[SHAPES];
    redlock_lock *lock[SHAPES], *adopted[SHAPES];
    struct result lost[SHAPES] = {{0}};
    pair_begin();
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
    pair_end();
}

CASE(kept_when_freed,
     "Freeing the handle of a kept lock, or closing, leaves it; release does not.")
{
    pair_begin();
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
        pair_release(adopted);

        lock = held(shape, REDLOCK_KEEP, TTL_MS);
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_close(a);
        CHECK_INT(3, kind_count_holds(&c, "x", value));
        redlock_lock_free(lock);
        a = client_open_warm(&c, REDLOCK_THREAD);
        CHECK_OK(redlock_adopt_as(b, "x", value, &known, &adopted));
        pair_release(adopted);

        pair_release(held(shape, REDLOCK_KEEP, TTL_MS));
    }
    pair_end();
}

CASE(kept_only_when_told,
     "A kept request that is freed or canceled while it waits leaves nothing.")
{
    pair_begin();
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
    pair_release(other);
    pair_end();
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
    pair_begin();
    redlock_lock *lock = NULL;
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_KEEP | REDLOCK_BOUND};
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(a, "x", TTL_MS, &q, &lock));
    CHECK_HAS("contradict", redlock_detail());
    pair_end();
}
