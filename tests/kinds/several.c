/* SPDX-License-Identifier: BSD-2-Clause */
/* Several names at once: all or none, against single holders, without deadlock, one token. */
#include "fixture.h"
#include "kinds.h"
#include "kinds_load.h"

#include <string.h>

enum { TTL_MS = LONG_TTL_MS };

static redlock_request with(const char *const *more, size_t count)
{
    return (redlock_request)REDLOCK_REQUEST(.more_names = more, .more_name_count = count);
}

static const char *const bc[] = {"b", "c"};

CASE_ON(all_or_none,
        "One taken name refuses all names of the request, and nothing stays on any node.",
        .flags = REDLOCK_THREAD)
{
    static const char *const names[] = {"a", "b", "c"};
    redlock_lock *lock;
    static const char *const keys[] = {"redlock:a", "redlock:b", "redlock:c"};
    other = client_open_warm(c, 0);
    for (int i = 0; i < 3; i++) {
        redlock_lock *single = client_lock(other, names[i], TTL_MS);
        CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "a", TTL_MS, with(bc, 2)));
        for (int n = 0; n < 3; n++)
            CHECK(n == i || cluster_await(c, keys[n], 0));
        client_unlock(single);
        CHECK(cluster_await_empty(c));
    }
    lock = client_lock_as(r, "a", TTL_MS, with(bc, 2));
    for (int i = 0; i < 3; i++) {
        CHECK(kind_await_holds(c, names[i], redlock_value(lock), 3));
        CHECK_ERR(REDLOCK_BUSY, client_try(other, names[i], TTL_MS));
        CHECK_ERR(REDLOCK_BUSY, client_try_as(other, names[i], TTL_MS, reader_request()));
    }
    CHECK_OK(client_try(other, "d", TTL_MS));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(other_kinds_hold_one, "A reader, an owner or a permit of one name keeps several out.",
        .flags = REDLOCK_THREAD)
{
    const redlock_request others[] = {reader_request(), owner_request("o"), slots_request(3)};
    for (int i = 0; i < 3; i++) {
        redlock_lock *second = client_lock_as(r, "c", TTL_MS, others[i]);
        CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "a", TTL_MS, with(bc, 2)));
        client_unlock(second);
        CHECK_OK(client_try_as(r, "a", TTL_MS, with(bc, 2)));
        CHECK(cluster_await_empty(c));
    }
}

CASE_ON(any_order_and_twice,
        "The order and the repetition of names in a request do not matter.",
        .flags = REDLOCK_THREAD)
{
    static const char *const first[] = {"a", "c", "b", "a", "c"}, *const second[] = {"b", "a"};
    redlock_lock *lock;
    static const char *const same[] = {"a", "a"};
    other = client_open_warm(c, 0);
    lock = client_lock_as(r, "b", TTL_MS, with(first, 5));
    CHECK_STR("a", redlock_name(lock));
    CHECK(kind_await_holds(c, "c", redlock_value(lock), 3));
    CHECK_INT(3, server_keys(&c->node[0]));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "c", TTL_MS, with(second, 2)));
    client_unlock(lock);
    CHECK_OK(client_try_as(other, "c", TTL_MS, with(second, 2)));
    CHECK(cluster_await_empty(c));
    /* The same name twice is one name, and a plain mutex. */
    lock = client_lock_as(r, "a", TTL_MS, with(same, 2));
    CHECK(cluster_await(c, "redlock:a", 3));
    CHECK_ERR(REDLOCK_BUSY, client_try(other, "a", TTL_MS));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(sixteen, "Sixteen names of full length work; seventeen are refused.",
        .flags = REDLOCK_THREAD)
{
    static char text[REDLOCK_NAMES_MAX + 1][REDLOCK_NAME_MAX + 1];
    const char *names[REDLOCK_NAMES_MAX + 1];
    redlock_request q;
    redlock_lock *lock;
    for (int i = 0; i <= REDLOCK_NAMES_MAX; i++) {
        memset(text[i], 'a' + i, REDLOCK_NAME_MAX);
        names[i] = text[i];
    }
    q = with(names + 1, REDLOCK_NAMES_MAX - 1);
    q.flags = REDLOCK_FENCED;
    lock = client_lock_as(r, names[0], TTL_MS, q);
    CHECK_OK(redlock_extend(lock, TTL_MS));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, names[15], TTL_MS));
    q.wait_ms = 2000; /* through the queues, too */
    CHECK_ERR(REDLOCK_TIMEOUT, client_try_as(r, names[0], TTL_MS, q));
    client_unlock(lock);
    CHECK(kind_await_clean(c));
    q = with(names + 1, REDLOCK_NAMES_MAX);
    CHECK_ERR(REDLOCK_INVAL, client_try_as(r, names[0], TTL_MS, q));
}

CASE_ON(repaired,
        "A node that lost one or all of the names gets them back, and never a part of them.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock_as(r, "a", TTL_MS, with(bc, 2));
    CHECK(kind_await_holds(c, "c", redlock_value(lock), 3));
    cluster_del(c, 1, 1, "redlock:b");
    CHECK_OK(redlock_extend(lock, TTL_MS));
    CHECK(kind_await_holds(c, "b", redlock_value(lock), 3));
    server_cmd(&c->node[1], "DEL", "redlock:a", "redlock:b", "redlock:c", NULL);
    CHECK_OK(redlock_extend(lock, TTL_MS));
    CHECK(kind_await_holds(c, "c", redlock_value(lock), 3));
    CHECK(kind_await_holds(c, "a", redlock_value(lock), 3));
    /* Another's key under one of them: the node stays without ours, and without half of it. */
    server_cmd(&c->node[1], "DEL", "redlock:a", NULL);
    cluster_set(c, 1, 1, "redlock:b", "another", TTL_MS);
    CHECK_OK(redlock_extend(lock, TTL_MS));
    client_unlock(lock);
    CHECK(cluster_await(c, "redlock:c", 0));
    CHECK_INT(0, cluster_count(c, "redlock:a"));
    CHECK_INT(1, cluster_count_value(c, "redlock:b", "another"));
}

CASE_ON(one_token, "Several names get one token, above every earlier token of each of them.",
        .clients = 2)
{
    static const char *const ahead[] = {"3000000000000000", "4000000000000000",
                                        "5000000000000000"};
    int64_t largest = 0;
    for (int i = 0; i < 12; i++) {
        static const char *const names[] = {"a", "b", "c"};
        redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_FENCED);
        redlock_lock *lock;
        if (i % 2) {
            q = with(bc, 2);
            q.flags = REDLOCK_FENCED;
        }
        /* A single name may be far ahead of the others: the next of all is above it. */
        if (i % 4 == 0)
            server_cmd(&c->node[i / 4], "HSET", i % 8 ? "redlock.fence:b" : "redlock.fence:c",
                       "0", ahead[i / 4], NULL);
        lock = client_lock_as(i % 3 ? r : other, i % 2 ? "a" : names[i / 2 % 3], TTL_MS, q);
        if (i % 2)
            CHECK_NEVER(redlock_fence(lock) <= largest);
        if (redlock_fence(lock) > largest)
            largest = redlock_fence(lock);
        client_unlock(lock);
    }
}

CASE(no_deadlock,
     "Eight processes that lock random sets of names never deadlock and never overlap.")
{
    struct load *l = load_run(&(struct load_spec){
        .nodes = 3,
        .workers = 8,
        .run_ms = check_setting("REDLOCK_STRESS_MS", 3000),
        .holds_min = 100,
        .seed = seed_choose(),
        .wish = load_wish_any_names,
    });
    CHECK_NEVER(holds_doubles(l->holds));
    CHECK_NEVER(holds_disorders(l->holds));
    CHECK_INT(0, l->failures); /* every wait of eight seconds was long enough */
    CHECK(holds_count(l->holds) > 50);
    /* A place in a queue that a closing client could not give up any more lives for 3 s. */
    if (!kind_await_clean(&l->c)) {
        kind_print(&l->c);
        FAIL("something was left behind");
    }
}

CASE(under_faults, "Processes that lock random sets of names never overlap while nodes fail.")
{
    struct load *l = load_run(&(struct load_spec){
        .nodes = 5,
        .workers = 8,
        .run_ms = check_setting("REDLOCK_STRESS_MS", 3000),
        .holds_min = 20,
        .faults = LOAD_HANGS | LOAD_CUTS | LOAD_RESTARTS,
        .seed = seed_choose(),
        .wish = load_wish_any_names,
    });
    CHECK_NEVER(holds_doubles(l->holds));
    CHECK_NEVER(holds_disorders(l->holds));
    CHECK(holds_count(l->holds) > 10);
    /* A release may have been lost with a connection: then its time ends it. */
    if (!kind_await_clean(&l->c)) {
        kind_print(&l->c);
        FAIL("something was left behind");
    }
}
