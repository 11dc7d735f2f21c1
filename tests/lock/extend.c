/* SPDX-License-Identifier: BSD-2-Clause */
/* Extending a lock by hand, its caps, and handing it over to another client. */
#include "fixture.h"
#include "proxy.h"

#include <stdio.h>

CASE_ON(extends_on_a_quorum, "An extension moves the deadline and the keys' expiry.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    int64_t most_ms = LONG_TTL_MS - LONG_TTL_MS / 100 - 2;
    server_kill(&c->node[0]);
    server_kill(&c->node[1]);
    CHECK_OK(redlock_extend(lock, LONG_TTL_MS));
    CHECK_BETWEEN(most_ms - SOON_MS, most_ms, redlock_remaining_ms(lock));
    for (int i = 2; i < 5; i++)
        CHECK_BETWEEN(LONG_TTL_MS - SOON_MS, LONG_TTL_MS,
                      server_int(&c->node[i], "PTTL", "redlock:x", NULL));
}

/* A node may have renewed its key when the request left us, not when its answer came back. */
CASE_NODES(validity_counts_from_the_request,
           "Slow answers make the validity shorter, not longer.")
{
    struct proxy p[3];
    redlock_lock *lock;
    proxies_start(p, c, 3);
    r = client_open_warm(c, 0);
    for (int i = 0; i < 3; i++)
        p[i].switches->down_delay_ms = 400;
    lock = client_lock(r, "x", 10000);
    CHECK_BETWEEN(1, 10000 - 102 - 400, redlock_remaining_ms(lock));
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_BETWEEN(10000, 20000 - 202 - 400, redlock_remaining_ms(lock));
}

CASE_ON(never_shortens, "Extending by less than is left shortens neither deadline nor keys.")
{
    redlock_lock *lock = client_lock_on(r, c, 3, "x", LONG_TTL_MS);
    int64_t deadline_ns = redlock_deadline_ns(lock);
    CHECK_OK(redlock_extend(lock, 2000));
    CHECK(redlock_deadline_ns(lock) >= deadline_ns);
    for (int i = 0; i < 3; i++)
        CHECK_BETWEEN(30000, LONG_TTL_MS, server_int(&c->node[i], "PTTL", "redlock:x", NULL));
}

CASE_ON(gone_is_lost, "Extending a lock whose keys are gone from a majority is LOST for good.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 2000);
    cluster_del(c, 0, 3, "redlock:x");
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 2000));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 20000));
    /* Keys left on a minority exclude no other client; they expire at the promised end. */
    CHECK_OK(client_try(r, "x", 2000));
    CHECK(cluster_await_empty(c));
}

CASE_ON(gone_on_a_minority,
        "An extension succeeds with keys gone from a minority, and sets them again.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_del(c, 0, 2, "redlock:x");
    CHECK_OK(redlock_extend(lock, 30000));
    /* The repaired nodes' answers come in. */
    AWAIT_DOING(redlock_margin(lock) == 2, CHECK(next_event(r, 10) == NULL));
    CHECK_INT(5, cluster_count_value(c, "redlock:x", redlock_value(lock)));
}

CASE_ON(margin_tells_the_reserve,
        "The margin is the number of nodes held beyond a bare majority.", .nodes = 5)
{
    redlock_lock *lock = client_lock(r, "x", 20000);
    /* The stragglers' grants come in. */
    AWAIT_DOING(redlock_margin(lock) == 2, CHECK(next_event(r, 10) == NULL));
}

CASE_ON(no_quorum_keeps_the_deadline,
        "An extension without a quorum leaves the deadline where it was.", .nodes = 5,
        .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock(r, "x", 20000);
    int64_t deadline_ns = redlock_deadline_ns(lock);
    cluster_each(c, 0, 3, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, 30000));
    CHECK_INT(deadline_ns, redlock_deadline_ns(lock));
    CHECK(redlock_remaining_ms(lock) > 0);
    cluster_each(c, 0, 3, server_thaw);
    AWAIT(redlock_extend(lock, 30000) == REDLOCK_OK);
    CHECK(redlock_deadline_ns(lock) > deadline_ns);
}

CASE_ON(expired_is_lost, "A lock whose validity has ended cannot be extended.")
{
    redlock_lock *lock = client_lock(r, "x", 2000);
    CHECK(cluster_await(c, "redlock:x", 0));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 20000));
    CHECK_INT(0, cluster_count(c, "redlock:x"));
}

CASE_ON(capped_by_count, "After max_extensions extensions the next one is refused.")
{
    redlock_lock *lock = CLIENT_LOCK(r, "x", 10000, .max_extensions = 2);
    CHECK_OK(redlock_extend(lock, 10000));
    CHECK_OK(redlock_extend(lock, 10000));
    CHECK_ERR(REDLOCK_INVAL, redlock_extend(lock, 10000));
    CHECK(redlock_detail()[0] != '\0');
    CHECK(redlock_remaining_ms(lock) > 0); /* the lock itself is fine */
}

CASE_ON(capped_by_age, "max_hold_ms lets no extension carry the lock past that age.")
{
    redlock_lock *lock = CLIENT_LOCK(r, "x", 5000, .max_hold_ms = 15000);
    CHECK_OK(redlock_extend(lock, 10000));
    CHECK_ERR(REDLOCK_INVAL, redlock_extend(lock, 20000));
    CHECK(redlock_remaining_ms(lock) > 0);
}

CASE_ON(adopt_extend_release,
        "Another client adopts a lock by its value, extends and releases it.")
{
    char value[REDLOCK_VALUE_MAX + 1];
    redlock_lock *lock, *adopted = NULL;
    other = client_open(c, 0);
    lock = client_lock(r, "x", 20000);
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    CHECK_OK(redlock_adopt(other, "x", value, NULL, &adopted));
    CHECK_INT(0, redlock_remaining_ms(adopted)); /* unknown yet */
    CHECK_STR(value, redlock_value(adopted));
    CHECK_STR("x", redlock_name(adopted));
    CHECK_OK(redlock_extend(adopted, LONG_TTL_MS));
    CHECK_BETWEEN(30000, LONG_TTL_MS, redlock_remaining_ms(adopted));
    CHECK_OK(redlock_release(adopted));
    redlock_lock_free(adopted);
    CHECK(cluster_await_empty(c));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release(lock)); /* it is gone from under the first */
}

CASE_ON(adopt_and_release_at_once, "An adopted lock can be released without being extended.")
{
    redlock_lock *lock = client_lock(r, "x", 20000);
    redlock_lock *adopted = NULL;
    CHECK_OK(redlock_adopt(r, "x", redlock_value(lock), NULL, &adopted));
    CHECK_OK(redlock_release(adopted));
    redlock_lock_free(adopted);
    CHECK(cluster_await_empty(c));
    redlock_lock_free(lock);
}

CASE_ON(adopt_nothing,
        "Adopting a value that is on no node: extend is LOST, release is EXPIRED.")
{
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_adopt(r, "x", "never-set", NULL, &lock));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 10000));
    redlock_lock_free(lock);
    CHECK_OK(redlock_adopt(r, "x", "never-set", NULL, &lock));
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release(lock));
    redlock_lock_free(lock);
    cluster_set(c, 0, 3, "redlock:x", "another", 20000);
    CHECK_OK(redlock_adopt(r, "x", "never-set", NULL, &lock));
    CHECK_ERR(REDLOCK_LOST, redlock_release(lock));
    redlock_lock_free(lock);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
}

CASE_ON(adopt_sends_nothing, "Adopting a lock and freeing it unproven sends nothing.")
{
    redlock_lock *lock = NULL;
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c->node[i]);
    CHECK_OK(redlock_adopt(r, "x", "some-value", NULL, &lock));
    CHECK_INT(REDLOCK_STATE_ADOPTED, redlock_state(lock));
    CHECK(next_event(r, 10) == NULL);
    for (int i = 0; i < 3; i++)
        CHECK_STR("", server_commands(&c->node[i]));
}
