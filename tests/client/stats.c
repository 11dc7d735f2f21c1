/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of a client: exact numbers for scripted sequences. */
#include "fixture.h"
#include "nodeclock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LONG_MS = GIVE_UP_MS };

static redlock_counters stats_of(redlock *r)
{
    redlock_counters s = REDLOCK_COUNTERS();

    CHECK_OK(redlock_stats(r, &s));
    CHECK_INT(sizeof s, s.size);
    return s;
}

static uint64_t sum(const redlock_histogram *h)
{
    uint64_t total = 0;

    for (int i = 0; i < REDLOCK_BUCKETS; i++)
        total += h->bucket[i];
    return total;
}

static uint64_t refused(const redlock_counters *s)
{
    return s->refused_busy + s->refused_timeout + s->refused_noquorum + s->refused_guarded +
           s->refused_canceled + s->refused_other;
}

/* What the header promises at any moment, of `begun` acquisitions. */
static void check_books(const redlock_counters *s, uint64_t begun)
{
    CHECK_INT(begun, s->waiting + s->acquired + refused(s));
    CHECK_INT(s->acquired + s->adopted, s->held + s->late + s->released + s->lost_expired +
                                            s->lost_missing + s->lost_doubt + s->left);
    CHECK_INT(s->acquired, s->wait.count);
    CHECK_INT(s->wait.count, sum(&s->wait));
    CHECK_INT(s->hold.count, sum(&s->hold));
}

CASE_ON(acquisitions, "Each acquisition is counted once, by its outcome.",
        .also = {REDLOCK_THREAD})
{
    redlock_counters s = stats_of(r);
    check_books(&s, 0);

    client_unlock(client_lock(r, "x", 10000));
    cluster_set(c, 0, 3, "redlock:taken", "somebody", 600000);
    for (int i = 0; i < 3; i++)
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "taken", 10000));
    CHECK_ERR(REDLOCK_TIMEOUT, CLIENT_TRY(r, "taken", 10000, .wait_ms = 1000));
    /* What is refused as an argument was never begun. */
    CHECK_ERR(REDLOCK_INVAL, client_try(r, "", 10000));
    s = stats_of(r);
    CHECK_INT(1, s.acquired);
    CHECK_INT(1, s.released);
    CHECK_INT(3, s.refused_busy);
    CHECK_INT(1, s.refused_timeout);
    check_books(&s, 5);

    cluster_each(c, 0, 2, server_kill);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", 10000));
    s = stats_of(r);
    CHECK_INT(1, s.refused_noquorum);
    check_books(&s, 6);
}

CASE_NODES(guarded, "An acquisition that young nodes prevent is counted as guarded.",
           .young = true)
{
    redlock_counters s;
    r = client_open(c, 0);
    client_warm(r);
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", 10000));
    s = stats_of(r);
    CHECK_INT(1, s.refused_guarded);
    check_books(&s, 1);
}

CASE_ON(waiters, "Waiters are counted while they wait, and as canceled when they are given up.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock[4];
    redlock_counters s;
    cluster_set(c, 0, 3, "redlock:taken", "somebody", 600000);
    for (int i = 0; i < 4; i++) {
        lock[i] = CLIENT_START(r, i < 2 ? "taken" : "taken too", 10000,
                               .wait_ms = REDLOCK_WAIT_FOREVER);
        cluster_set(c, 0, 3, "redlock:taken too", "somebody", 600000);
    }
    NO_EVENT(r);
    s = stats_of(r);
    CHECK_INT(4, s.waiting);
    check_books(&s, 4);
    CHECK_OK(redlock_cancel(lock[0]));
    s = stats_of(r);
    CHECK_INT(3, s.waiting);
    CHECK_INT(1, s.refused_canceled);
    for (int i = 0; i < 4; i++)
        redlock_lock_free(lock[i]);
    s = stats_of(r);
    CHECK_INT(0, s.waiting);
    CHECK_INT(4, s.refused_canceled);
    check_books(&s, 4);
}

CASE_ON(extended, "Extensions and releases are counted, and those that failed beside them.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock = CLIENT_LOCK(r, "x", 20000, .max_extensions = 1);
    redlock_counters s;
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_ERR(REDLOCK_INVAL, redlock_extend(lock, 20000)); /* by the cap: not tried */
    s = stats_of(r);
    CHECK_INT(1, s.held);
    CHECK_INT(1, s.renewed);
    CHECK_INT(0, s.renewals_failed);
    CHECK_INT(0, s.hold.count);
    client_unlock(lock);

    lock = client_lock(r, "y", 30000);
    cluster_each(c, 0, 2, server_kill);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, 30000));
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_release(lock));
    redlock_lock_free(lock);
    s = stats_of(r);
    CHECK_INT(1, s.renewed);
    CHECK_INT(1, s.renewals_failed);
    CHECK_INT(2, s.released);
    CHECK_INT(1, s.releases_failed);
    CHECK_INT(2, s.hold.count);
    check_books(&s, 2);
}

CASE_ON(renewed, "Renewals of the watchdog are counted, and a lock that is freed was released.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = CLIENT_LOCK(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    redlock_counters s;
    AWAIT(stats_of(r).renewed >= 3);
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
    s = stats_of(r);
    CHECK_INT(1, s.released);
    CHECK_INT(0, s.held);
    check_books(&s, s.acquired + refused(&s));
}

CASE_ON(lost,
        "Losses are counted by their reason: the end of the validity, or keys that are gone.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *expired = client_lock(r, "expired", 2000);
    redlock_lock *deleted = client_lock(r, "deleted", 20000);
    redlock_counters s;
    cluster_del(c, 0, 3, "redlock:deleted");
    CHECK_ERR(REDLOCK_LOST, redlock_extend(deleted, 20000));
    AWAIT(redlock_state(expired) == REDLOCK_STATE_LOST);
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release(expired));
    s = stats_of(r);
    CHECK_INT(1, s.lost_expired);
    CHECK_INT(1, s.lost_missing);
    CHECK_INT(0, s.lost_doubt);
    CHECK_INT(0, s.released);
    CHECK_INT(1, s.releases_failed);
    CHECK_INT(0, s.held);
    CHECK_INT(2, s.hold.count);
    check_books(&s, s.acquired + refused(&s));
    redlock_lock_free(expired);
    redlock_lock_free(deleted);
    s = stats_of(r);
    check_books(&s, s.acquired + refused(&s));
}

CASE_ON(doubted, "A hold that rests on clocks which stepped is counted as lost in doubt.",
        .start = nodeclock_cluster, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock(r, "x", 30000);
    redlock_counters s;
    for (size_t i = 0; i < 2; i++)
        nodeclock_step(&c->node[i], 3600000);
    AWAIT(redlock_state(lock) == REDLOCK_STATE_LOST);
    s = stats_of(r);
    CHECK_INT(1, s.lost_doubt);
    check_books(&s, s.acquired + refused(&s));
}

CASE_ON(adopted, "A lock that is taken over is held, and left or released as others are.")
{
    redlock_lock *lock = client_lock(r, "x", 20000);
    char value[REDLOCK_VALUE_MAX + 1];
    redlock_counters s;
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    redlock_lock_leave(lock);
    s = stats_of(r);
    CHECK_INT(1, s.left);
    CHECK_INT(1, s.hold.count);
    CHECK_OK(redlock_adopt(r, "x", value, NULL, &lock));
    s = stats_of(r);
    CHECK_INT(1, s.adopted);
    CHECK_INT(1, s.held);
    redlock_lock_free(lock);
    CHECK_INT(2, stats_of(r).left);
    CHECK_OK(redlock_adopt(r, "x", value, NULL, &lock));
    client_unlock(lock);
    s = stats_of(r);
    CHECK_INT(1, s.released);
    CHECK_INT(1, s.hold.count); /* since when an adopted lock is held is unknown */
    check_books(&s, 1);
}

CASE_ON(times, "Waits and holds are in the buckets of their bounds, and add up.")
{
    static const int64_t bounds_us[] = REDLOCK_BUCKET_BOUNDS_US;
    redlock_lock *lock = NULL;
    int64_t start_ns = now_ns();
    redlock_counters s;
    cluster_set(c, 0, 3, "redlock:x", "somebody", 2000);
    lock = CLIENT_LOCK(r, "x", 20000, .wait_ms = LONG_MS);
    s = stats_of(r);
    CHECK_BETWEEN(1, (now_ns() - start_ns) / 1000, s.wait.sum_us);
    sleep_ms(30);
    client_unlock(lock);
    s = stats_of(r);
    CHECK_BETWEEN(30000, (now_ns() - start_ns) / 1000, s.hold.sum_us);
    for (int i = 0; i < REDLOCK_BUCKETS; i++) {
        bool above = i == 0 || (int64_t)s.hold.sum_us > bounds_us[i - 1];
        bool below = i == REDLOCK_BUCKETS - 1 || (int64_t)s.hold.sum_us <= bounds_us[i];
        CHECK_INT(above && below, s.hold.bucket[i]);
    }
}

CASE_ON(late, "A lock that was granted after its wait is counted as late, not as released.")
{
    redlock_lock *lock[2] = {0};
    redlock_counters s;
    CHECK_OK(redlock_start_acquire(r, "first", 20000, NULL, &lock[0]));
    lock[1] = CLIENT_START(r, "second", 20000, .wait_ms = 2000);
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock[0]);
    sleep_ms(2200);
    EXPECT(r, ACQUIRED, REDLOCK_TIMEOUT, lock[1]);
    s = stats_of(r);
    CHECK_INT(1, s.late + s.refused_timeout); /* refused: the machine was late before that */
    CHECK_INT(1, s.held);
    CHECK_INT(0, s.released);
    check_books(&s, 2);
}

enum { THREADS = 4, CYCLES = 100 };

static void *cycle(void *data)
{
    for (int i = 0; i < CYCLES; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%lx-%d", (unsigned long)pthread_self(), i);
        client_unlock(client_lock(data, name, 20000));
    }
    return NULL;
}

CASE_ON(threads,
        "Counters can be read at any moment while threads take locks, and never disagree.",
        .flags = REDLOCK_THREAD)
{
    pthread_t thread[THREADS];
    redlock_counters s = {0};
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, cycle, r));
    for (uint64_t last = 0; last < THREADS * CYCLES; last = s.released) {
        s = stats_of(r);
        CHECK(s.released >= last);
        check_books(&s, s.waiting + s.acquired + refused(&s));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(THREADS * CYCLES, s.acquired - s.held);
}

CASE_ON(sizes, "A caller of an older header gets what it knows, and a wrong size is refused.",
        .nodes = 1)
{
    union {
        redlock_counters stats;
        unsigned char bytes[sizeof(redlock_counters)];
    } s;
    memset(&s, 0xab, sizeof s);
    s.stats.size = sizeof s.stats.size + sizeof s.stats.acquired;
    client_unlock(client_lock(r, "x", 10000));
    CHECK_OK(redlock_stats(r, &s.stats));
    CHECK_INT(1, s.stats.acquired);
    for (size_t i = s.stats.size; i < sizeof s; i++)
        CHECK_INT(0xab, s.bytes[i]);
    s.stats.size = 0;
    CHECK_ERR(REDLOCK_INVAL, redlock_stats(r, &s.stats));
    CHECK_ERR(REDLOCK_INVAL, redlock_stats(r, NULL));
    s.stats.size = sizeof s.stats;
    CHECK_ERR(REDLOCK_INVAL, redlock_stats(NULL, &s.stats));
}
