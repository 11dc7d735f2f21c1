/* SPDX-License-Identifier: BSD-2-Clause */
/* The watchdog that renews a lock, and the event of its loss. */
#include "fixture.h"

CASE_ON(renew_keeps_a_lock,
        "REDLOCK_RENEW keeps a lock over several TTLs, and stops at release.", .nodes = 5,
        .flags = REDLOCK_THREAD)
{
    redlock *rival = client_open(c, 0);
    redlock_lock *lock = NULL;
    int64_t ttl_ms = RENEWED_TTL_MS;
    lock = CLIENT_LOCK(r, "x", ttl_ms, .flags = REDLOCK_RENEW);
    for (int64_t end_ms = now_ms() + 3 * ttl_ms / 2; now_ms() < end_ms; sleep_ms(20)) {
        CHECK(redlock_remaining_ms(lock) > 0);
        CHECK_ERR(REDLOCK_BUSY, client_try(rival, "x", 10000));
    }
    NO_EVENT(r);
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
    sleep_ms(ttl_ms / 2); /* a watchdog that went on would bring it back */
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    NO_EVENT(r);
}

CASE_ON(renew_in_a_poll_loop,
        "REDLOCK_RENEW keeps a lock where the caller's redlock_next() renews.")
{
    redlock_lock *lock = NULL;
    int64_t ttl_ms = RENEWED_TTL_MS;
    CHECK(redlock_fd(r) >= 0);
    lock = CLIENT_LOCK(r, "x", ttl_ms, .flags = REDLOCK_RENEW);
    for (int64_t end_ms = now_ms() + 3 * ttl_ms / 2; now_ms() < end_ms;) {
        CHECK(next_event(r, 20) == NULL);
        CHECK(redlock_remaining_ms(lock) > 0);
    }
}

static void refuses_to_renew(const redlock_options *o, bool by_next)
{
    redlock *r = client_open_with(o);
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_RENEW);
    redlock_lock *lock = NULL;
    CHECK_OK(client_try(r, "x", 10000)); /* blocked callers drive, but only while they block */
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", 10000, &q, &lock));
    CHECK_HAS("REDLOCK_THREAD", redlock_detail());
    CHECK_HAS("redlock_fd()", redlock_detail());
    CHECK(lock == NULL);
    /* What waits for its event has to be driven anyhow. */
    CHECK_OK(redlock_start_acquire(r, "y", 10000, &q, &lock));
    redlock_lock_free(lock);
    if (by_next)
        NO_EVENT(r);
    else
        CHECK(redlock_fd(r) >= 0);
    CHECK_OK(redlock_acquire(r, "x", 10000, &q, &lock));
    client_unlock(lock);
    client_close(r);
}

CASE_NODES(renew_needs_a_driver, "REDLOCK_RENEW is INVAL on a client that nothing drives.")
{
    redlock_options o = client_options(c);
    refuses_to_renew(&o, false);
    refuses_to_renew(&o, true);
}

CASE_NODES(renew_needs_a_driver_of_quorums,
           "REDLOCK_RENEW is INVAL on a client of several quorums that nothing drives.",
           .nodes = 2)
{
    redlock_quorum quorums[2] = {{"a", c->urls, 1}, {"b", c->urls + 1, 1}};
    redlock_options o = client_options(c);
    o.nodes = NULL;
    o.node_count = 0;
    o.quorums = quorums;
    o.quorum_count = 2;
    refuses_to_renew(&o, false);
    refuses_to_renew(&o, true);
}

static void lose_without_renewal(uint32_t flags)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock(r, "x", 2000);
    int error;
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    CHECK_INT(0, redlock_remaining_ms(lock));
    error = redlock_release(lock);
    CHECK(error == REDLOCK_EXPIRED || error == REDLOCK_LOST);
    NO_EVENT(r);
    redlock_lock_free(lock);
    client_close(r);
}

CASE(lost_without_renewal, "A lock held too long without renewal is reported as lost, once.")
{
    lose_without_renewal(0);
    lose_without_renewal(REDLOCK_THREAD);
}
