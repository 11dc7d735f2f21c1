/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_ms counts from the call, and no acquisition succeeds after it: not when the driver is
 * busy, not when the program reads its events late, and not when the caller itself wakes late.
 */
#include "fixture.h"
#include "fleet.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { WAIT_MS = 1000, BUSY_MS = 3000, TTL_MS = LONG_TTL_MS, SHORT_TTL_MS = 2000 };

static _Atomic int notified;

static void be_slow(void *data)
{
    notified = data != NULL;
    if (data)
        sleep_ms(BUSY_MS);
}

static redlock_lock *lock_to_lose(redlock *r, const char *name)
{
    redlock_lock *lock = CLIENT_LOCK(r, name, SHORT_TTL_MS, .data = &notified);
    return lock;
}

static redlock_request request(uint32_t flags)
{
    return (redlock_request)REDLOCK_REQUEST(.flags = flags, .wait_ms = WAIT_MS);
}

/*
 * Nothing of the lock is on any node, nor comes back with a renewal, and no event is about it.
 */
static void check_given_back(struct cluster *c, redlock *r)
{
    NO_EVENT(r);
    AWAIT(cluster_count(c, "redlock:x") == 0);
    sleep_ms(300); /* a renewal at a third of the TTL, a loss at its end */
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    NO_EVENT(r);
}

/*
 * Granted late is TIMEOUT; where the request could not even be sent in time, no node has voted.
 */
static void check_refused(int error)
{
    CHECK(error == REDLOCK_TIMEOUT || error == REDLOCK_NOQUORUM);
}

static void acquire_beside_slow(uint32_t request_flags)
{
    struct cluster c;
    redlock_request q = request(request_flags);
    redlock_lock *slow, *lock = NULL;
    redlock *r;

    cluster_start(&c, 3);
    r = CLIENT_OPEN(&c, .flags = REDLOCK_THREAD, .notify = be_slow);
    client_warm(r);
    slow = lock_to_lose(r, "slow");
    AWAIT(notified != 0);
    server_forget_commands(&c.node[0]);
    check_refused(redlock_acquire(r, "x", TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    /* An order that is taken up after its wait tries nothing; a bound one is no order. */
    if (!(request_flags & REDLOCK_BOUND))
        CHECK_LACKS("set ", server_commands(&c.node[0]));
    EXPECT(r, LOST, REDLOCK_LOST, slow);
    redlock_lock_free(slow);
    check_given_back(&c, r);
}

CASE_OF(io_thread_is_busy,
        "A wait that begins during a longer notification does not succeed late.",
        acquire_beside_slow(REDLOCK_RENEW));

CASE_OF(io_thread_is_busy_bound,
        "A lock bound to its thread is not granted late while the I/O thread is busy.",
        acquire_beside_slow(REDLOCK_BOUND | REDLOCK_RENEW));

CASE_ON(quorum_is_busy,
        "Of several quorums, a wait ends in time though the thread of its own is busy.",
        .quorums = 2, .notify = be_slow, .flags = REDLOCK_THREAD)
{
    redlock_request q = request(REDLOCK_RENEW);
    redlock_lock *slow, *lock = NULL;

    slow = lock_to_lose(r, fleet_name(fleet, 1, 0));
    AWAIT(notified != 0);
    check_refused(redlock_acquire(r, fleet_name(fleet, 1, 1), TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    EXPECT(r, LOST, REDLOCK_LOST, slow);
    redlock_lock_free(slow);
    CHECK(cluster_await_empty(&fleet->cluster[1]));
    NO_EVENT(r);
}

struct driver {
    redlock *client;
    _Atomic int error;
};

static void *drive(void *data)
{
    struct driver *d = data;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 10000);
    redlock_lock *lock = NULL;

    d->error = redlock_acquire(d->client, "held", TTL_MS, &q, &lock);
    return NULL;
}

CASE_NODES(blocked_driver_is_busy,
           "Without an I/O thread no wait succeeds late because the driving caller is busy.")
{
    redlock_request q = request(REDLOCK_RENEW);
    redlock_lock *slow, *lock = NULL;
    struct driver driver;
    pthread_t thread;

    driver.client = CLIENT_OPEN(c, .notify = be_slow);
    client_warm(driver.client);
    CHECK(redlock_fd(driver.client) >= 0); /* else a lock that is to be renewed is refused */
    cluster_set(c, 0, 3, "redlock:held", "another", 60000);
    slow = lock_to_lose(driver.client, "slow");
    CHECK_INT(0, pthread_create(&thread, NULL, drive, &driver));
    AWAIT(notified != 0);
    check_refused(redlock_acquire(driver.client, "x", TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    pthread_join(thread, NULL);
    CHECK_ERR(REDLOCK_TIMEOUT, driver.error);
    EXPECT(driver.client, LOST, REDLOCK_LOST, slow);
    check_given_back(c, driver.client);
}

static void check_failed_handle(redlock_lock *lock)
{
    CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_fence(lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_extend(lock, TTL_MS));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_release(lock));
}

static redlock_lock *start(redlock *r, const char *name, int64_t ttl_ms, uint32_t flags)
{
    redlock_request q = request(flags);
    redlock_lock *lock = NULL;

    CHECK_OK(redlock_start_acquire(r, name, ttl_ms, &q, &lock));
    return lock;
}

static void check_late(struct cluster *c, redlock *r, redlock_lock *lock)
{
    const redlock_event *event = EXPECT(r, ACQUIRED, REDLOCK_TIMEOUT, lock);

    CHECK_HAS("after the wait had ended", event->detail);
    check_failed_handle(lock);
    check_given_back(c, r);
    check_failed_handle(lock);
    redlock_lock_free(lock);
    client_close(r);
}

/* The grant of x is there, behind an event that the program takes its time to handle. */
static void read_behind_another(struct cluster *c, redlock *r, uint32_t flags, int64_t ttl_ms)
{
    redlock_lock *first = start(r, "first", TTL_MS, 0);
    redlock_lock *lock = start(r, "x", ttl_ms, flags);

    EXPECT(r, ACQUIRED, REDLOCK_OK, first);
    sleep_ms(BUSY_MS);
    redlock_lock_free(first);
    check_late(c, r, lock);
}

CASE_ON(read_late, "A grant that is read after the wait, behind another event, is TIMEOUT.",
        .also = {REDLOCK_THREAD})
{
    read_behind_another(c, r, REDLOCK_RENEW | REDLOCK_FENCED, TTL_MS);
}

CASE_ON(read_late_bound, "A bound lock's grant that is read after the wait is TIMEOUT.")
{
    read_behind_another(c, r, REDLOCK_BOUND, TTL_MS);
}

CASE_OF_ON(read_late_kept, "A kept lock's grant that is read after the wait is TIMEOUT.",
           read_behind_another(c, r, REDLOCK_KEEP, TTL_MS), .flags = REDLOCK_THREAD);

CASE_ON(read_after_the_loss,
        "A lock that expired before its grant is read is TIMEOUT, never LOST.",
        .also = {REDLOCK_THREAD})
{
    read_behind_another(c, r, 0, SHORT_TTL_MS);
}

CASE_ON(loop_comes_late, "An event loop that reads the grants after the wait gets TIMEOUT.")
{
    redlock_lock *lock = start(r, "x", TTL_MS, REDLOCK_RENEW);

    cluster_each(c, 0, 3, server_freeze);
    NO_EVENT(r); /* sends */
    cluster_each(c, 0, 3, server_thaw);
    sleep_ms(3 * WAIT_MS); /* the grants have come */
    check_late(c, r, lock);
}

CASE_ON(loop_sends_late,
        "An event loop that first sends after the wait tries nothing and gets TIMEOUT.")
{
    redlock_lock *lock = start(r, "x", TTL_MS, REDLOCK_RENEW);
    const redlock_event *event;

    sleep_ms(3 * WAIT_MS);
    event = next_event(r, GIVE_UP_MS);
    CHECK(event && event->type == REDLOCK_EVENT_ACQUIRED && event->error != REDLOCK_OK);
    check_failed_handle(lock);
    check_given_back(c, r);
}

static _Atomic int in_handler;
static _Atomic int leave_handler;

/* The thread stands still here, as one that gets no CPU does. */
static void stand_still(int number)
{
    const struct timespec moment = {.tv_nsec = RL_NS_PER_MS};

    (void)number;
    in_handler = 1;
    while (!leave_handler)
        nanosleep(&moment, NULL);
    in_handler = 0;
}

struct sleeper {
    redlock *client;
    redlock_request request;
    int64_t ttl_ms;
    _Atomic int calling;
    _Atomic int error;
    redlock_lock *lock;
    int64_t called_ms;
};

static void *acquire_and_sleep(void *data)
{
    struct sleeper *s = data;

    s->called_ms = now_ms();
    s->calling = 1;
    s->error = redlock_acquire(s->client, "x", s->ttl_ms, &s->request, &s->lock);
    return NULL;
}

enum { LONG_WAIT_MS = 4000 };

/*
 * Another holds x; the caller waits for it, stands still, gets it, and goes on LONG_WAIT_MS
 * after its call. The client and its servers, for what is to be seen afterwards.
 */
static void wake_late(struct sleeper *s, struct cluster *c)
{
    struct sigaction action = {.sa_handler = stand_still};
    pthread_t thread;
    redlock *other;
    redlock_lock *held;

    sigaction(SIGUSR1, &action, NULL);
    in_handler = leave_handler = 0;
    s->client = client_start(c, 3, REDLOCK_THREAD);
    other = client_open_warm(c, 0);
    held = client_lock(other, "x", TTL_MS);
    CHECK_INT(0, pthread_create(&thread, NULL, acquire_and_sleep, s));
    AWAIT(s->calling != 0);
    sleep_ms(100); /* in its call, and asleep */
    CHECK_INT(0, pthread_kill(thread, SIGUSR1));
    AWAIT(in_handler != 0);
    client_unlock(held);
    while (now_ms() < s->called_ms + LONG_WAIT_MS + 100)
        sleep_ms(10);
    leave_handler = 1;
    pthread_join(thread, NULL);
    client_close(other);
}

static void grant_to_a_sleeper(uint32_t flags, int64_t ttl_ms, int64_t wait_ms)
{
    struct sleeper s = {.request = request(flags), .ttl_ms = ttl_ms};
    struct cluster c;
    redlock_counters stats = REDLOCK_COUNTERS();

    s.request.wait_ms = wait_ms;
    wake_late(&s, &c);
    CHECK_ERR(REDLOCK_TIMEOUT, s.error);
    CHECK(s.lock == NULL);
    check_given_back(&c, s.client);
    /* It is counted as late, or as lost: its owner never released it. */
    CHECK_OK(redlock_stats(s.client, &stats));
    CHECK_INT(0, stats.released + stats.held);
    CHECK_INT(1, stats.late + stats.lost_expired + stats.refused_timeout);
    client_close(s.client);
}

CASE_OF(caller_wakes_late, "A caller that wakes after its wait gives back what it was granted.",
        grant_to_a_sleeper(REDLOCK_RENEW, TTL_MS, LONG_WAIT_MS));

CASE_OF(caller_wakes_late_bound,
        "A caller that wakes after its wait gives back a lock bound to its thread.",
        grant_to_a_sleeper(REDLOCK_BOUND | REDLOCK_RENEW, TTL_MS, LONG_WAIT_MS));

CASE_OF(caller_wakes_late_kept,
        "A caller that wakes after its wait gives back a lock that was to be kept.",
        grant_to_a_sleeper(REDLOCK_KEEP | REDLOCK_RENEW, TTL_MS, LONG_WAIT_MS));

CASE_OF(caller_wakes_after_the_loss,
        "A lock that expired before its late caller woke is TIMEOUT, never reported as lost.",
        grant_to_a_sleeper(0, SHORT_TTL_MS, LONG_WAIT_MS));

CASE_OF(caller_wakes_in_its_wait,
        "A lock that expired before its caller woke is TIMEOUT though its wait has not ended.",
        grant_to_a_sleeper(0, SHORT_TTL_MS, REDLOCK_WAIT_FOREVER));

CASE(caller_wakes_to_a_renewed_lock,
     "A lock that was renewed until its late caller woke is handed out.")
{
    struct sleeper s = {.request = REDLOCK_REQUEST(.flags = REDLOCK_RENEW),
                        .ttl_ms = SHORT_TTL_MS};
    struct cluster c;

    s.request.wait_ms = REDLOCK_WAIT_FOREVER;
    wake_late(&s, &c);
    CHECK_OK(s.error);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(s.lock));
}
