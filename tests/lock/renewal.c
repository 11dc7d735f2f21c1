/* SPDX-License-Identifier: BSD-2-Clause */
/* The watchdog that renews a lock, and the callback that tells the loss of the lock. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdatomic.h>

struct loss {
    _Atomic int calls;
    _Atomic int error;
    _Atomic int64_t at_ns;
};

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct loss *l = data;
    CHECK_INT(0, redlock_remaining_ms(lock));
    l->at_ns = now_ns();
    l->error = error;
    l->calls++;
}

static bool is_lost(void *data)
{
    return ((struct loss *)data)->calls > 0;
}

CASE(renew_keeps_a_lock, "REDLOCK_RENEW keeps a lock over several TTLs, and stops at release.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start(&c, 5, REDLOCK_THREAD);
    redlock *rival = client_open(&c, 0);
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_RENEW, .lost = on_lost, .data = &loss};
    redlock_lock *lock = NULL;
    int64_t ttl_ms = 1500; /* a late machine loses a shorter one */
    CHECK_OK(redlock_acquire(r, "x", ttl_ms, &q, &lock));
    for (int64_t end_ms = now_ms() + 3 * ttl_ms; now_ms() < end_ms; sleep_ms(20)) {
        CHECK(redlock_remaining_ms(lock) > 0);
        CHECK_ERR(REDLOCK_BUSY, client_try(rival, "x", 10000));
    }
    CHECK_INT(0, loss.calls);
    client_unlock(lock);
    CHECK(cluster_await_empty(&c, 1000));
    sleep_ms(ttl_ms); /* a watchdog that went on would bring it back */
    CHECK_INT(0, cluster_count(&c, "redlock:x"));
    CHECK_INT(0, loss.calls);
    redlock_close(rival);
    redlock_close(r);
}

CASE(renew_in_a_poll_loop,
     "REDLOCK_RENEW keeps a lock where the caller's redlock_process() renews.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_RENEW};
    redlock_lock *lock = NULL;
    int64_t ttl_ms = 1500; /* a late machine loses a shorter one */
    CHECK(redlock_fd(r) >= 0);
    CHECK_OK(redlock_acquire(r, "x", ttl_ms, &q, &lock));
    for (int64_t end_ms = now_ms() + 3 * ttl_ms; now_ms() < end_ms;) {
        CHECK(redlock_process(r, 20) >= 0);
        CHECK(redlock_remaining_ms(lock) > 0);
    }
    client_unlock(lock);
    redlock_close(r);
}

static void refuses_to_renew(const redlock_options *o, bool by_process)
{
    redlock *r = client_open_with(o);
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_RENEW};
    redlock_lock *lock = NULL;
    CHECK_OK(client_try(r, "x", 10000)); /* blocked callers drive, but only while they block */
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", 10000, &q, &lock));
    CHECK_HAS("REDLOCK_THREAD", redlock_detail());
    CHECK_HAS("redlock_fd()", redlock_detail());
    CHECK(lock == NULL);
    /* What waits for its outcome has to be driven anyhow. */
    struct result result = {0};
    redlock_request start = {
        .size = sizeof start, .flags = REDLOCK_RENEW, .done = result_note, .data = &result};
    CHECK_OK(redlock_start(r, "y", 10000, &start, &lock));
    redlock_lock_free(lock);
    if (by_process)
        CHECK(redlock_process(r, 0) >= 0);
    else
        CHECK(redlock_fd(r) >= 0);
    CHECK_OK(client_acquire(r, "x", 10000, &q, &lock));
    client_unlock(lock);
    redlock_close(r);
}

CASE(renew_needs_a_driver, "REDLOCK_RENEW is INVAL on a client that nothing drives.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock_options o = client_options(&c);
    refuses_to_renew(&o, false);
    refuses_to_renew(&o, true);
}

CASE(renew_needs_a_driver_of_quorums,
     "REDLOCK_RENEW is INVAL on a client of several quorums that nothing drives.")
{
    struct cluster c;
    cluster_start(&c, 2);
    redlock_quorum quorums[2] = {{"a", c.urls, 1}, {"b", c.urls + 1, 1}};
    redlock_options o = client_options(&c);
    o.nodes = NULL;
    o.node_count = 0;
    o.quorums = quorums;
    o.quorum_count = 2;
    refuses_to_renew(&o, false);
    refuses_to_renew(&o, true);
}

CASE(renew_respects_caps, "A capped renewal ends, and the end is told as a loss.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    redlock_request q = {.size = sizeof q,
                         .flags = REDLOCK_RENEW,
                         .max_extensions = 2,
                         .lost = on_lost,
                         .data = &loss};
    redlock_lock *lock = NULL;
    int64_t start_ms = now_ms();
    CHECK_OK(client_acquire(r, "x", 900, &q, &lock));
    CHECK(wait_until(is_lost, &loss, 5000));
    CHECK_BETWEEN(1200, 1800 + SLACK_MS, now_ms() - start_ms); /* 900 + 2 * a third of it */
    CHECK_INT(1, loss.calls);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(lost_fires_in_time, "With three of five nodes hung the loss is told before the deadline.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start_hasty(&c, 5, REDLOCK_THREAD, 150);
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_RENEW, .lost = on_lost, .data = &loss};
    redlock_lock *lock = NULL;
    CHECK_OK(client_acquire(r, "x", 600, &q, &lock));
    cluster_each(&c, 0, 3, server_freeze);
    int64_t deadline_ns = 0;
    for (int64_t now; (now = redlock_deadline_ns(lock)) != 0; sleep_ms(1))
        deadline_ns = now;
    CHECK(wait_until(is_lost, &loss, 2000));
    CHECK_ERR(REDLOCK_LOST, loss.error == REDLOCK_EXPIRED ? REDLOCK_LOST : loss.error);
    /* On the deadline, give or take a timer and a context switch. */
    CHECK_BETWEEN(-SLACK_MS, SLACK_MS, (loss.at_ns - deadline_ns) / 1000000);
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(1, loss.calls);
    cluster_each(&c, 0, 3, server_thaw);
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(&c, 2000));
    redlock_close(r);
}

CASE(lost_without_renewal, "A lock held too long without renewal is told as lost, once.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    redlock_request q = {.size = sizeof q, .lost = on_lost, .data = &loss};
    redlock_lock *lock = NULL;
    CHECK_OK(client_acquire(r, "x", 150, &q, &lock));
    int64_t deadline_ns = redlock_deadline_ns(lock);
    CHECK(wait_until(is_lost, &loss, 2000));
    CHECK_BETWEEN(-15, SLACK_MS, (loss.at_ns - deadline_ns) / 1000000);
    int error = redlock_release(lock);
    CHECK(error == REDLOCK_EXPIRED || error == REDLOCK_LOST);
    CHECK_INT(1, loss.calls);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(lost_when_deleted, "A renewal that finds its keys gone tells the loss at once.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_RENEW, .lost = on_lost, .data = &loss};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(r, "x", 3000, &q, &lock));
    CHECK(cluster_await(&c, "redlock:x", 3, 1000));
    cluster_set(&c, 0, 3, "redlock:x", "another", 20000);
    CHECK(wait_until(is_lost, &loss, 1000 + 50 + SLACK_MS)); /* a third of the TTL */
    CHECK_ERR(REDLOCK_LOST, loss.error);
    CHECK_INT(3, cluster_count_value(&c, "redlock:x", "another"));
    redlock_lock_free(lock);
    redlock_close(r);
}

static void free_on_lost(redlock_lock *lock, int error, void *data)
{
    struct loss *l = data;
    l->error = error;
    redlock_lock_free(lock);
    l->calls++;
}

CASE(free_inside_lost, "A handle may be freed inside its lost callback.")
{
    struct cluster c;
    struct loss loss = {0};
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    redlock_request q = {.size = sizeof q, .lost = free_on_lost, .data = &loss};
    redlock_lock *lock = NULL;
    CHECK_OK(client_acquire(r, "x", 50, &q, &lock));
    CHECK(wait_until(is_lost, &loss, 2000));
    redlock_close(r);
    CHECK_INT(1, loss.calls);
}
