/* SPDX-License-Identifier: BSD-2-Clause */
/* Between a failed renewal and the end: jeopardy, recovery, and the healing of the margin. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

enum { NODES = 5, TTL_MS = 3000 };

struct story {
    _Atomic int jeopardies, recoveries, losses;
    _Atomic int error;
    _Atomic int state; /* inside the callback */
};

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct story *s = data;
    s->state = redlock_state(lock);
    if (error == REDLOCK_OK) {
        s->recoveries++;
        return;
    }
    s->error = error;
    CHECK(redlock_remaining_ms(lock) > 0); /* still ours */
    CHECK(redlock_detail()[0] != '\0');
    s->jeopardies++;
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct story *s = data;
    s->state = redlock_state(lock);
    s->error = error;
    s->losses++;
}

static bool in_jeopardy(void *data)
{
    return ((struct story *)data)->jeopardies > 0;
}

static bool recovered(void *data)
{
    return ((struct story *)data)->recoveries > 0;
}

static bool is_lost(void *data)
{
    return ((struct story *)data)->losses > 0;
}

static redlock_lock *hold(redlock *r, struct story *s, int64_t ttl_ms)
{
    redlock_request q = {.size = sizeof q,
                         .flags = REDLOCK_RENEW,
                         .jeopardy = on_jeopardy,
                         .lost = on_lost,
                         .data = s};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(r, "x", ttl_ms, &q, &lock));
    return lock;
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLIN) != 0;
}

static void rearm(int fd)
{
    uint64_t count = 0;
    CHECK_INT(sizeof count, read(fd, &count, sizeof count));
    CHECK(!is_readable(fd, 0));
}

static void freeze(struct cluster *c, int count)
{
    cluster_each(c, 0, count, server_freeze);
}

static void thaw(struct cluster *c, int count)
{
    cluster_each(c, 0, count, server_thaw);
}

CASE(jeopardy_and_recovery,
     "A failed renewal is told as jeopardy, and the next success as recovery.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    int fd = redlock_event_fd(lock);
    CHECK(fd >= 0);
    CHECK_INT(fd, redlock_event_fd(lock)); /* it is always the same */
    CHECK(!is_readable(fd, TTL_MS));       /* several good renewals are no event */
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));

    freeze(&c, 3);
    CHECK(is_readable(fd, TTL_MS));
    CHECK(wait_until(in_jeopardy, &s, 100 + SLACK_MS));
    CHECK_INT(REDLOCK_STATE_JEOPARDY, s.state);
    CHECK_INT(REDLOCK_STATE_JEOPARDY, redlock_state(lock));
    CHECK_INT(REDLOCK_NOQUORUM, s.error);
    CHECK(redlock_remaining_ms(lock) > 0);
    rearm(fd);

    thaw(&c, 3);
    CHECK(is_readable(fd, TTL_MS));
    CHECK(wait_until(recovered, &s, 100 + SLACK_MS));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    rearm(fd);
    CHECK_INT(1, s.jeopardies);
    CHECK_INT(1, s.recoveries);
    CHECK_INT(0, s.losses);
    /* The lock is renewed as before. */
    sleep_ms(TTL_MS + TTL_MS / 2);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK(!is_readable(fd, 0));
    client_unlock(lock);
    CHECK_INT(0, s.losses);
    redlock_close(r);
}

CASE(jeopardy_then_lost,
     "Jeopardy without recovery ends in LOST, told by the callback and the descriptor.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    int fd = redlock_event_fd(lock);
    freeze(&c, 3);
    CHECK(is_readable(fd, TTL_MS));
    rearm(fd);
    CHECK(is_readable(fd, TTL_MS + SLACK_MS));
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_deadline_ns(lock));
    CHECK(wait_until(is_lost, &s, 100 + SLACK_MS));
    CHECK_INT(1, s.jeopardies);
    CHECK_INT(0, s.recoveries);
    CHECK_INT(1, s.losses);
    CHECK_INT(REDLOCK_STATE_LOST, s.state);
    thaw(&c, 3);
    redlock_lock_free(lock); /* closes the descriptor */
    redlock_close(r);
}

CASE(no_jeopardy_with_a_majority,
     "A lock with two of five nodes hung is renewed without jeopardy.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    freeze(&c, 2);
    sleep_ms(2 * TTL_MS);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK_INT(0, s.jeopardies);
    thaw(&c, 2);
    client_unlock(lock);
    redlock_close(r);
}

CASE(jeopardy_by_extension, "A failed extension by the caller is told as jeopardy as well.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    redlock_request q = {
        .size = sizeof q, .jeopardy = on_jeopardy, .lost = on_lost, .data = &s};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(r, "x", 20000, &q, &lock));
    freeze(&c, 3);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, 20000));
    CHECK_INT(REDLOCK_STATE_JEOPARDY, redlock_state(lock));
    thaw(&c, 3);
    client_warm(r);
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK(wait_until(recovered, &s, 1000));
    CHECK_INT(1, s.jeopardies);
    client_unlock(lock);
    redlock_close(r);
}

CASE(states_of_a_life,
     "A handle's state is IDLE, HELD, RELEASED, or LOST when held past its end.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    redlock_lock *lock = client_lock(r, "x", 20000);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK_OK(redlock_release(lock));
    CHECK_INT(REDLOCK_STATE_RELEASED, redlock_state(lock));
    redlock_lock_free(lock);
    lock = client_lock(r, "x", 50);
    int64_t deadline_ns = redlock_deadline_ns(lock);
    while (now_ns() < deadline_ns)
        sleep_ms(1);
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock)); /* by the clock, without an event */
    redlock_lock_free(lock);
    redlock_close(r);
}

/* ---- healing (A8) ------------------------------------------------------------------------ */

CASE(heals_deleted_keys, "Keys deleted on a minority are set again by the next renewal.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    CHECK(cluster_await(&c, "redlock:x", 5, 1000));
    cluster_del(&c, 1, 2, "redlock:x");
    CHECK(cluster_await(&c, "redlock:x", 5, TTL_MS)); /* a third of it is enough */
    CHECK_INT(5, cluster_count_value(&c, "redlock:x", redlock_value(lock)));
    CHECK(client_await_margin(lock, 2, 1000));
    for (int i = 1; i < 3; i++) /* with what is left of its time, not more */
        CHECK_BETWEEN(1, TTL_MS, server_int(&c.node[i], "PTTL", "redlock:x", NULL));
    client_unlock(lock);
    CHECK(cluster_await_empty(&c, 1000)); /* healed keys are released as well */
    redlock_close(r);
}

CASE(heals_a_node_that_was_hung,
     "A node that hung during the acquire gets the key by a later renewal.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    server_freeze(&c.node[3]);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    CHECK(client_await_margin(lock, 1, 1000));
    sleep_ms(2 * TTL_MS); /* what waits in its socket is out of date by now */
    CHECK(client_await_margin(lock, 1, 1000)); /* counted anew with each renewal */
    server_thaw(&c.node[3]);
    CHECK(client_await_margin(lock, 2, TTL_MS + 2000));
    CHECK_STR(redlock_value(lock), server_cmd(&c.node[3], "GET", "redlock:x", NULL));
    CHECK_INT(0, s.jeopardies);
    client_unlock(lock);
    redlock_close(r);
}

CASE(heals_a_node_that_was_away,
     "A node that was down during the acquire gets the key by a later renewal.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    server_kill(&c.node[3]);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    CHECK(client_await_margin(lock, 1, 1000));
    server_restart_admitted(&c.node[3]); /* to be healed it has to be trusted */
    CHECK(client_await_margin(lock, 2, 2 * TTL_MS + 1000));
    CHECK_STR(redlock_value(lock), server_cmd(&c.node[3], "GET", "redlock:x", NULL));
    client_unlock(lock);
    CHECK(cluster_await_empty(&c, 1000));
    redlock_close(r);
}

CASE(takes_nothing_from_another, "Healing does not overwrite another holder's key.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    cluster_set(&c, 0, 1, "redlock:x", "another", 20000);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    sleep_ms(TTL_MS);
    CHECK_STR("another", server_cmd(&c.node[0], "GET", "redlock:x", NULL));
    CHECK(client_await_margin(lock, 1, 1000));
    client_unlock(lock);
    CHECK_STR("another", server_cmd(&c.node[0], "GET", "redlock:x", NULL));
    redlock_close(r);
}

CASE(quarantined_nodes_are_not_healed,
     "A restarted node gets no healed key while it is in quarantine.")
{
    struct cluster c;
    struct story s = {0};
    redlock *r = client_start_hasty(&c, NODES, REDLOCK_THREAD, STEADY_MS);
    redlock_lock *lock = hold(r, &s, TTL_MS);
    CHECK(client_await_margin(lock, 2, 1000));
    server_restart(&c.node[4]);
    CHECK(client_await_margin(lock, 1, TTL_MS + 2000));
    for (int64_t end_ms = now_ms() + 2 * TTL_MS; now_ms() < end_ms; sleep_ms(10)) {
        CHECK_INT(0, server_int(&c.node[4], "EXISTS", "redlock:x", NULL));
        CHECK(redlock_margin(lock) <= 1);
    }
    redlock_node_info info = {.size = sizeof info};
    CHECK_OK(redlock_node(r, 4, &info));
    CHECK_INT(REDLOCK_NODE_UP, info.state); /* connected all the time */
    CHECK_INT(1, info.quarantined);
    client_unlock(lock);
    redlock_close(r);
}
