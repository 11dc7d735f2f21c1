/* SPDX-License-Identifier: BSD-2-Clause */
/* Between a failed renewal and the end: jeopardy, recovery, and the repair of the margin. */
#include "fixture.h"

enum { NODES = 5, TTL_MS = RENEWED_TTL_MS };

static redlock_lock *hold(redlock *r)
{
    redlock_lock *lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_RENEW);
    return lock;
}

static void freeze(struct cluster *c, int count)
{
    cluster_each(c, 0, count, server_freeze);
}

static void thaw(struct cluster *c, int count)
{
    cluster_each(c, 0, count, server_thaw);
}

CASE_ON(jeopardy_and_recovery,
        "A failed renewal is reported as jeopardy, and the next success as recovery.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = hold(r);
    CHECK(next_event(r, TTL_MS) == NULL); /* several good renewals are no event */
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));

    freeze(c, 3);
    CHECK(EXPECT(r, JEOPARDY, REDLOCK_NOQUORUM, lock)->detail[0] != '\0');
    CHECK_INT(REDLOCK_STATE_JEOPARDY, redlock_state(lock));
    CHECK(redlock_remaining_ms(lock) > 0); /* still ours */
    NO_EVENT(r);

    thaw(c, 3);
    EXPECT(r, RECOVERED, REDLOCK_OK, lock);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    /* The lock is renewed as before. */
    CHECK(next_event(r, TTL_MS) == NULL);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    client_unlock(lock);
    NO_EVENT(r);
}

CASE_ON(jeopardy_then_lost, "Jeopardy without recovery ends in LOST.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = hold(r);
    freeze(c, 3);
    EXPECT(r, JEOPARDY, REDLOCK_NOQUORUM, lock);
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_deadline_ns(lock));
    NO_EVENT(r);
    thaw(c, 3);
}

CASE_ON(no_jeopardy_with_a_majority,
        "A lock with two of five nodes hung is renewed without jeopardy.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = hold(r);
    freeze(c, 2);
    CHECK(next_event(r, TTL_MS + TTL_MS / 2) == NULL);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    thaw(c, 2);
}

CASE_ON(jeopardy_by_extension,
        "A failed extension by the caller is reported as jeopardy as well.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock(r, "x", 20000);
    freeze(c, 3);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, 20000));
    CHECK_INT(REDLOCK_STATE_JEOPARDY, redlock_state(lock));
    EXPECT(r, JEOPARDY, REDLOCK_NOQUORUM, lock);
    thaw(c, 3);
    client_warm(r);
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    EXPECT(r, RECOVERED, REDLOCK_OK, lock);
}

CASE_ON(states_of_a_life,
        "A handle is WAITING, FAILED, ADOPTED, HELD, RELEASED, or LOST when held past its end.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock(r, "x", 20000), *second = NULL;
    int64_t deadline_ns;
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK_OK(redlock_start_acquire(r, "x", 20000, NULL, &second));
    CHECK_INT(REDLOCK_STATE_WAITING, redlock_state(second));
    EXPECT(r, ACQUIRED, REDLOCK_BUSY, second);
    CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(second));
    redlock_lock_free(second);
    CHECK_OK(redlock_adopt(r, "x", redlock_value(lock), NULL, &second));
    CHECK_INT(REDLOCK_STATE_ADOPTED, redlock_state(second));
    CHECK_INT(0, redlock_remaining_ms(second));
    CHECK_OK(redlock_extend(second, 20000));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(second));
    redlock_lock_free(second);
    CHECK_OK(redlock_release(lock));
    CHECK_INT(REDLOCK_STATE_RELEASED, redlock_state(lock));
    redlock_lock_free(lock);
    lock = client_lock(r, "x", 2000);
    deadline_ns = redlock_deadline_ns(lock);
    while (now_ns() < deadline_ns)
        sleep_ms(1);
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock)); /* by the clock, without an event */
}

CASE_ON(repairs_deleted_keys, "Keys deleted on a minority are set again by the next renewal.",
        .nodes = NODES, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = hold(r);
    CHECK(cluster_await(c, "redlock:x", 5));
    cluster_del(c, 1, 2, "redlock:x");
    CHECK(cluster_await(c, "redlock:x", 5)); /* a third of it is enough */
    CHECK_INT(5, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    CHECK(client_await_margin(lock, 2));
    for (int i = 1; i < 3; i++) /* with what is left of its time, not more */
        CHECK_BETWEEN(1, TTL_MS, server_int(&c->node[i], "PTTL", "redlock:x", NULL));
    client_unlock(lock);
    CHECK(cluster_await_empty(c)); /* repaired keys are released as well */
}

CASE_ON(repairs_a_node_that_was_hung,
        "A node that hung during the acquire gets the key by a later renewal.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock;
    server_freeze(&c->node[3]);
    lock = hold(r);
    CHECK(client_await_margin(lock, 1));
    sleep_ms(TTL_MS + TTL_MS / 2);       /* what waits in its socket is out of date by now */
    CHECK(client_await_margin(lock, 1)); /* counted anew with each renewal */
    server_thaw(&c->node[3]);
    CHECK(client_await_margin(lock, 2));
    CHECK_STR(redlock_value(lock), server_cmd(&c->node[3], "GET", "redlock:x", NULL));
    NO_EVENT(r);
}

CASE_ON(repairs_a_node_that_was_away,
        "A node that was down during the acquire gets the key by a later renewal.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock;
    server_kill(&c->node[3]);
    lock = hold(r);
    CHECK(client_await_margin(lock, 1));
    server_restart_admitted(&c->node[3]); /* to be repaired it has to be trusted */
    CHECK(client_await_margin(lock, 2));
    CHECK_STR(redlock_value(lock), server_cmd(&c->node[3], "GET", "redlock:x", NULL));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(takes_nothing_from_another, "Repair does not overwrite another holder's key.",
        .nodes = NODES, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock;
    cluster_set(c, 0, 1, "redlock:x", "another", 20000);
    lock = hold(r);
    sleep_ms(TTL_MS);
    CHECK_STR("another", server_cmd(&c->node[0], "GET", "redlock:x", NULL));
    CHECK(client_await_margin(lock, 1));
    client_unlock(lock);
    CHECK_STR("another", server_cmd(&c->node[0], "GET", "redlock:x", NULL));
}
