/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a lock of every kind: adopted, renewed, lost, released late, given up. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "invalid.h"
#include "kinds.h"
#include "pair.h"
#include "proxy.h"

#include "rl_scripts.h"

#include <stdio.h>
#include <string.h>

CASES_BEGIN_WITH(pair_begin);

enum { TTL_MS = LONG_TTL_MS, LATE_TTL_MS = RENEWED_TTL_MS };

static const char *const all_names[] = {"x", "y", "z"};

static int name_count(enum shape shape)
{
    return shape == SHAPE_SEVERAL ? 3 : 1;
}

/* Held on all nodes. */
static redlock_lock *held(redlock *r, enum shape shape)
{
    redlock_request q = shape_request(shape);
    redlock_lock *lock;
    q.label = "deploy@web3 #7";
    lock = client_lock_as(r, "x", TTL_MS, q);
    CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
    return lock;
}

CASE(adopt, "An adopted lock of any kind, with a label, is renewed and released by its value.")
{
    FOR_SHAPES(shape)
    {
        char value[REDLOCK_VALUE_MAX + 1];
        redlock_lock *lock = held(a, shape);
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        redlock_lock_leave(lock);
        for (int i = 0; i < name_count(shape); i++) {
            redlock_lock *adopted = NULL;
            CHECK_OK(redlock_adopt(b, all_names[i], value, NULL, &adopted));
            CHECK_STR(value, redlock_value(adopted));
            CHECK_STR(all_names[i], redlock_name(adopted));
            CHECK_INT(0, redlock_remaining_ms(adopted));
            CHECK_OK(redlock_extend(adopted, TTL_MS));
            CHECK(redlock_remaining_ms(adopted) > TTL_MS / 2);
            redlock_lock_free(adopted); /* does not give it up */
            CHECK(kind_await_holds(&c, all_names[i], value, 3));
            CHECK_OK(redlock_adopt(b, all_names[i], value, NULL, &adopted));
            CHECK_OK(redlock_release(adopted));
            redlock_lock_free(adopted);
        }
        CHECK(cluster_await_empty(&c));
    }
}

CASE(adopt_strangers, "An adopted value that is on no node renews and releases nothing.")
{
    FOR_SHAPES(shape)
    {
        redlock_lock *lock = held(a, shape), *adopted = NULL;
        int error;
        CHECK_OK(redlock_adopt(b, "x", "0123456789abcdef0123456789abcdef01234567#1", NULL,
                               &adopted));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(adopted, TTL_MS));
        redlock_lock_free(adopted);
        CHECK_OK(
            redlock_adopt(b, "x", "0123456789abcdef0123456789abcdef01234567", NULL, &adopted));
        error = redlock_release(adopted);
        CHECK(error == REDLOCK_EXPIRED || error == REDLOCK_LOST);
        redlock_lock_free(adopted);
        CHECK(kind_await_holds(&c, "x", redlock_value(lock), 3));
        client_unlock(lock);
        CHECK(cluster_await_empty(&c));
    }
}

CASE(adopted_keeps_its_kind, "Renewing an adopted lock puts no other kind on any node.")
{
    FOR_SHAPES(shape)
    {
        char type[16];
        redlock_lock *lock = held(a, shape), *adopted = NULL;
        const char *now;
        snprintf(type, sizeof type, "%s", server_cmd(&c.node[0], "TYPE", "redlock:x", NULL));
        CHECK_OK(redlock_adopt(b, "x", redlock_value(lock), NULL, &adopted));
        server_cmd(&c.node[2], "DEL", "redlock:x", NULL);
        for (int i = 0; i < 3; i++)
            CHECK_OK(redlock_extend(adopted, TTL_MS));
        CHECK_OK(redlock_ping(b, NULL));
        CHECK_STR("PONG", server_cmd(&c.node[2], "PING", NULL));
        sleep_ms(50); /* for a repair that would be on its way */
        now = server_cmd(&c.node[2], "TYPE", "redlock:x", NULL);
        if (strcmp(now, "none") != 0)
            CHECK_STR(type, now);
        redlock_lock_free(adopted);
        redlock_release(lock);
        redlock_lock_free(lock);
        CHECK(cluster_await_empty(&c));
    }
}

CASE(given_up, "Freeing the handle or closing the client releases a held lock of any kind.")
{
    FOR_SHAPES(shape)
    {
        redlock *r;
        redlock_lock *lock;
        redlock_lock_free(held(a, shape));
        CHECK(cluster_await_empty(&c));
        r = client_open_warm(&c, 0);
        lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
        client_close(r);
        redlock_lock_free(lock);
        CHECK(cluster_await_empty(&c));
    }
}

/*
 * Of locks that are held all at once, because a late machine needs long TTLs: each kind has a
 * name of its own.
 */
static const char *name_of(enum shape shape)
{
    return shape == SHAPE_SEVERAL ? "x" : shape_text(shape);
}

CASE(released_late, "A release after the end of the validity says so, whatever the kind.")
{
    redlock_lock *lock[SHAPES];
    FOR_SHAPES(shape)
    lock[shape] = client_lock_as(a, name_of(shape), LATE_TTL_MS, shape_request(shape));
    sleep_ms(LATE_TTL_MS + 10);
    FOR_SHAPES(shape)
    {
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock[shape]));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_release(lock[shape]));
        redlock_lock_free(lock[shape]);
    }
    CHECK(cluster_await_empty(&c));
}

CASE(renewed_and_lost,
     "The watchdog renews every kind, and reports the loss when a majority forgot it.")
{
    redlock_lock *lock[SHAPES];
    struct tally tally[SHAPES] = {0};
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        q.flags = REDLOCK_RENEW;
        q.data = &tally[shape];
        lock[shape] = client_lock_as(a, name_of(shape), LATE_TTL_MS, q);
    }
    sleep_ms(LATE_TTL_MS + 100);
    FOR_SHAPES(shape)
    {
        char key[32];
        snprintf(key, sizeof key, "redlock:%s", name_of(shape));
        drain(a);
        CHECK_INT(0, tally[shape].count[REDLOCK_EVENT_LOST]);
        CHECK(redlock_remaining_ms(lock[shape]) > 0);
        CHECK(kind_count_holds(&c, name_of(shape), redlock_value(lock[shape])) >= 2);
        /* Again and again: a renewal between the two deletions puts the first one back. */
        for (int64_t end_ms = now_ms() + GIVE_UP_MS;
             !tally[shape].count[REDLOCK_EVENT_LOST] && now_ms() < end_ms; drain(a))
            for (int i = 0; i < 2; i++)
                server_cmd(&c.node[i], "DEL", key, NULL);
    }
    FOR_SHAPES(shape)
    {
        CHECK_INT(1, tally[shape].count[REDLOCK_EVENT_LOST]);
        redlock_lock_free(lock[shape]);
    }
    CHECK(cluster_await_empty(&c));
}

CASE(repeat_after_release,
     "A script that a node had forgotten is not repeated after its release.")
{
    struct proxy p;
    redlock *r;
    proxy_before(&p, &c, 2);
    r = client_open_warm(&c, REDLOCK_THREAD);
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        long long before;
        redlock_lock *lock;
        if (shape == SHAPE_MUTEX)
            q.flags = REDLOCK_FENCED; /* by script */
        before = p.switches->down_bytes;
        CHECK_STR("OK", server_cmd(&c.node[2], "SCRIPT", "FLUSH", NULL));
        server_cmd(&c.node[2], "SCRIPT", "LOAD", RL_SCRIPT_GIVEBACK, NULL);
        server_cmd(&c.node[2], "SCRIPT", "LOAD", RL_SCRIPT_RELEASE, NULL);
        p.switches->hold = 1; /* its answer waits on the way */
        lock = client_lock_as(r, "x", TTL_MS, q);
        AWAIT(p.switches->down_bytes != before);
        before = p.switches->down_bytes;
        client_unlock(lock);
        AWAIT(p.switches->down_bytes != before);
        p.switches->hold = 0;
        client_warm(r); /* whatever follows from the answers has been sent */
        client_warm(r);
        if (!kind_await_clean(&c)) {
            kind_print(&c);
            FAIL("%s: taken after it was released", shape_text(shape));
        }
    }
}

CASE(token_of_the_first_call,
     "The very first request of a client gets its token, whatever the kind.")
{
    FOR_SHAPES(shape)
    {
        redlock_request q = shape_request(shape);
        q.flags = REDLOCK_FENCED;
        if (shape_traits(shape) & REDLOCK_KIND_SEVERAL)
            continue;
        for (int i = 0; i < 5; i++) {
            redlock *r = client_open(&c, 0); /* connects with the request */
            redlock_lock *lock = client_lock_as(r, "x", TTL_MS, q);
            CHECK(redlock_fence(lock) > 0);
            client_unlock(lock);
            client_close(r);
        }
    }
}

static int try_acquire(redlock_request q)
{
    redlock_lock *lock = NULL;
    int error = redlock_acquire(a, "x", TTL_MS, &q, &lock);
    CHECK(lock == NULL);
    return error;
}

CASE(makes_no_sense, "Combinations that make no sense are refused, each with its own sentence.")
{
    static const char *const more[] = {"y", ""};
    static char long_owner[REDLOCK_OWNER_MAX + 2];
    redlock_request q = reader_request();
    q.flags = REDLOCK_FENCED;
    INVALID(try_acquire(q));
    CHECK_HAS("shared", redlock_detail());
    q = slots_request(2);
    q.flags = REDLOCK_FENCED;
    INVALID(try_acquire(q));
    CHECK_HAS("semaphore", redlock_detail());
    q = slots_request(0);
    INVALID(try_acquire(q));
    CHECK_HAS("1 to 1024", redlock_detail());
    q = slots_request(REDLOCK_SLOTS_MAX + 1);
    INVALID(try_acquire(q));
    q = reader_request();
    q.slots = 2;
    INVALID(try_acquire(q));
    q = reader_request();
    q.owner = "me";
    INVALID(try_acquire(q));
    INVALID(try_acquire(owner_request("")));
    memset(long_owner, 'o', sizeof long_owner - 1);
    INVALID_TOO(try_acquire(owner_request(long_owner)));
    long_owner[REDLOCK_OWNER_MAX] = '\0';
    CHECK_OK(client_try_as(a, "x", TTL_MS, owner_request(long_owner)));
    CHECK_OK(client_try_as(a, "x", TTL_MS, slots_request(REDLOCK_SLOTS_MAX)));
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        if (redlock_kind_traits(kind) & REDLOCK_KIND_NAMES)
            continue;
        q = (redlock_request)REDLOCK_REQUEST(.kind = kind, .more_names = more);
        q.more_name_count = 1;
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 2 : 0;
        INVALID(try_acquire(q));
        CHECK_HAS(redlock_kind_text(kind), redlock_detail());
    }
    q = (redlock_request)REDLOCK_REQUEST(.more_name_count = 1);
    INVALID(try_acquire(q));
    q = (redlock_request)REDLOCK_REQUEST(.more_names = more, .more_name_count = 2);
    INVALID(try_acquire(q)); /* an empty name among them */
    CHECK(cluster_await_empty(&c));
}

CASE(unknown_kinds, "A number or word that is no kind is refused by every call that takes one.")
{
    static const char *const words[] = {"", "Mutex", "mutex ", "rwlock", "unknown", NULL};
    int numbers[] = {-1, 127, 128, 255, 256, INT32_MAX, INT32_MIN, 0, 0};
    int count = 0;
    redlock_lock *lock = NULL;
    for (; redlock_kind_traits(count); count++)
        CHECK_INT(count, redlock_kind_number(redlock_kind_text(count)));
    CHECK(count >= 4);
    numbers[7] = count;
    numbers[8] = count + 1;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        redlock_request q = REDLOCK_REQUEST(.kind = numbers[i]);
        CHECK_INT(0, redlock_kind_traits(numbers[i]));
        CHECK_STR("unknown", redlock_kind_text(numbers[i]));
        INVALID_TOO(try_acquire(q));
        CHECK_HAS("unknown kind", redlock_detail());
        CHECK_ERR(REDLOCK_INVAL, redlock_adopt(a, "x", "value", &q, &lock));
        CHECK_HAS("unknown kind", redlock_detail());
        q.slots = 2;
        q.owner = "me";
        INVALID_TOO(try_acquire(q));
        CHECK_HAS("unknown kind", redlock_detail());
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        CHECK_INT(-1, redlock_kind_number(words[i]));
    CHECK(cluster_await_empty(&c));
}
