/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_ms counts from the call, and no acquisition succeeds after it: not when the driver is busy
 * with a callback, not when the loop comes late, and not when the caller itself wakes late.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 100, BUSY_MS = 1000, TTL_MS = 20000 };

/* ---- a callback that keeps the driver busy ---- */

struct slow {
    redlock_lock *lock;
    _Atomic int running;
    _Atomic int over;
};

static void on_slow_done(redlock_lock *lock, int error, void *data)
{
    struct slow *slow = data;

    (void)lock;
    CHECK_OK(error);
    slow->running = 1;
    sleep_ms(BUSY_MS);
    slow->over = 1;
}

static void slow_start(redlock *r, struct slow *slow)
{
    redlock_request q = {.size = sizeof q, .done = on_slow_done, .data = slow};

    CHECK_OK(redlock_start(r, "slow", TTL_MS, &q, &slow->lock));
}

static bool is_set(void *flag)
{
    return *(_Atomic int *)flag != 0;
}

/* ---- what must not be told of a lock that was given back ---- */

struct told {
    _Atomic int done, error, lost, jeopardy;
};

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct told *told = data;

    (void)lock;
    told->error = error;
    told->done++;
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    ((struct told *)data)->lost++;
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    ((struct told *)data)->jeopardy++;
}

static redlock_request request(struct told *told, uint32_t flags)
{
    return (redlock_request){
        .size = sizeof(redlock_request),
        .flags = flags,
        .wait_ms = WAIT_MS,
        .lost = on_lost,
        .jeopardy = on_jeopardy,
        .data = told,
    };
}

static bool is_gone(void *cluster)
{
    return cluster_count(cluster, "redlock:x") == 0;
}

/* Nothing of the lock is on any node, nor comes back with a renewal. */
static void check_given_back(struct cluster *c, const struct told *told)
{
    CHECK(wait_until(is_gone, c, 5000));
    sleep_ms(300); /* a renewal at a third of the TTL, a loss at its end */
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    CHECK_INT(0, told->lost);
    CHECK_INT(0, told->jeopardy);
}

/* ---- the driver is busy ---- */

/* Granted late is TIMEOUT; where the request could not even be sent in time, no node has voted. */
static void check_refused(int error)
{
    CHECK(error == REDLOCK_TIMEOUT || error == REDLOCK_NOQUORUM);
}

static void acquire_beside_slow(uint32_t request_flags)
{
    struct cluster c;
    struct slow slow = {0};
    struct told told = {0};
    redlock_request q = request(&told, request_flags);
    redlock_lock *lock = NULL;
    redlock *r;

    r = client_start(&c, 3, REDLOCK_THREAD);
    slow_start(r, &slow);
    CHECK(wait_until(is_set, &slow.running, 5000));
    server_forget_commands(&c.node[0]);
    check_refused(redlock_acquire(r, "x", TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    /* An order that is taken up after its wait tries nothing; a bound one is no order. */
    if (!(request_flags & REDLOCK_BOUND))
        CHECK_LACKS("set ", server_commands(&c.node[0]));
    redlock_lock_free(slow.lock);
    check_given_back(&c, &told);
    redlock_close(r);
}

CASE(io_thread_in_a_callback,
     "A wait of 100 ms that begins during a callback of 1 s does not succeed late.")
{
    acquire_beside_slow(REDLOCK_RENEW);
}

CASE(io_thread_in_a_callback_bound,
     "A lock bound to its thread is not granted late while the I/O thread is in a callback.")
{
    acquire_beside_slow(REDLOCK_BOUND | REDLOCK_RENEW);
}

CASE(quorum_in_a_callback,
     "Of several quorums, a wait ends in time though the thread of its own is busy.")
{
    struct fleet f;
    struct slow slow = {0};
    struct told told = {0};
    redlock_request q = request(&told, REDLOCK_RENEW);
    redlock_request slow_q = {.size = sizeof slow_q, .done = on_slow_done, .data = &slow};
    redlock_lock *lock = NULL;
    redlock *r;

    fleet_start(&f, 2, 3);
    r = fleet_open_warm(&f, REDLOCK_THREAD);
    CHECK_OK(redlock_start(r, fleet_name(&f, 1, 0), TTL_MS, &slow_q, &slow.lock));
    CHECK(wait_until(is_set, &slow.running, 5000));
    check_refused(redlock_acquire(r, fleet_name(&f, 1, 1), TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    redlock_lock_free(slow.lock);
    CHECK(cluster_await_empty(&f.cluster[1], 5000));
    CHECK_INT(0, told.lost + told.jeopardy);
    redlock_close(r);
}

struct driver {
    redlock *client;
    _Atomic int error;
};

static void *drive(void *data)
{
    struct driver *d = data;
    redlock_request q = {.size = sizeof q, .wait_ms = 3000};
    redlock_lock *lock = NULL;

    d->error = redlock_acquire(d->client, "held", TTL_MS, &q, &lock);
    return NULL;
}

CASE(blocked_driver_in_a_callback,
     "Without an I/O thread no wait succeeds late because the driving caller is busy.")
{
    struct cluster c;
    struct slow slow = {0};
    struct told told = {0};
    redlock_request q = request(&told, REDLOCK_RENEW);
    redlock_lock *lock = NULL;
    struct driver driver;
    pthread_t thread;

    driver.client = client_start(&c, 3, 0);
    CHECK(redlock_fd(driver.client) >= 0); /* else a lock that is to be renewed is refused */
    cluster_set(&c, 0, 3, "redlock:held", "another", 60000);
    slow_start(driver.client, &slow);
    CHECK_INT(0, pthread_create(&thread, NULL, drive, &driver));
    CHECK(wait_until(is_set, &slow.running, 5000));
    check_refused(redlock_acquire(driver.client, "x", TTL_MS, &q, &lock));
    CHECK(lock == NULL);
    pthread_join(thread, NULL);
    CHECK_ERR(REDLOCK_TIMEOUT, driver.error);
    CHECK_INT(0, cluster_count(&c, "redlock:x"));
    CHECK_INT(0, told.lost + told.jeopardy);
    redlock_lock_free(slow.lock);
    redlock_close(driver.client);
}

/* ---- asynchronous ---- */

static void process_until(redlock *r, _Atomic int *flag)
{
    int64_t end_ms = now_ms() + 10000;

    while (!*flag && now_ms() < end_ms)
        CHECK(redlock_process(r, 100) >= 0);
    CHECK(*flag);
}

static void check_failed_handle(redlock_lock *lock)
{
    redlock_request q = {.size = sizeof q, .done = on_done};

    CHECK_INT(REDLOCK_STATE_IDLE, redlock_state(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_fence(lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_extend(lock, TTL_MS, q.done, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_release(lock, q.done, NULL));
}

static void start_behind_slow(uint32_t flags, int64_t ttl_ms)
{
    struct cluster c;
    struct slow slow = {0};
    struct told told = {0};
    redlock_request q = request(&told, flags);
    redlock_lock *lock = NULL;
    redlock *r;

    r = client_start(&c, 3, 0);
    slow_start(r, &slow);
    q.done = on_done;
    CHECK_OK(redlock_start(r, "x", ttl_ms, &q, &lock));
    process_until(r, &told.done);
    CHECK_INT(1, slow.over); /* so it was told after its wait */
    CHECK_ERR(REDLOCK_TIMEOUT, told.error);
    check_failed_handle(lock);
    redlock_lock_free(slow.lock);
    for (int64_t end_ms = now_ms() + 400; now_ms() < end_ms;)
        redlock_process(r, 50);
    CHECK_INT(1, told.done);
    check_failed_handle(lock);
    check_given_back(&c, &told);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(done_behind_a_slow_callback,
     "A result delayed past the wait by another lock's callback is TIMEOUT.")
{
    start_behind_slow(REDLOCK_RENEW | REDLOCK_FENCED, TTL_MS);
}

CASE(done_behind_a_slow_callback_bound,
     "A bound lock's result delayed past the wait by a callback is TIMEOUT.")
{
    start_behind_slow(REDLOCK_BOUND, TTL_MS);
}

CASE(done_behind_a_slow_callback_kept,
     "A kept lock's result delayed past the wait by a callback is TIMEOUT.")
{
    start_behind_slow(REDLOCK_KEEP, TTL_MS);
}

CASE(done_and_lost_behind_a_slow_callback,
     "A lock that expired before its late result is told is not told as lost.")
{
    start_behind_slow(0, 200);
}

CASE(loop_comes_late, "An event loop that reads the grants after the wait is told TIMEOUT.")
{
    struct cluster c;
    struct told told = {0};
    redlock_request q = request(&told, REDLOCK_RENEW);
    redlock_lock *lock = NULL;
    redlock *r;

    r = client_start(&c, 3, 0);
    q.done = on_done;
    CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &lock));
    cluster_each(&c, 0, 3, server_freeze);
    redlock_process(r, 0); /* sends */
    cluster_each(&c, 0, 3, server_thaw);
    sleep_ms(3 * WAIT_MS); /* the grants have come */
    process_until(r, &told.done);
    CHECK_ERR(REDLOCK_TIMEOUT, told.error);
    CHECK(strstr(redlock_detail(), "after the wait had ended") != NULL);
    check_failed_handle(lock);
    redlock_process(r, 0);
    check_given_back(&c, &told);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(loop_sends_late,
     "An event loop that first sends after the wait tries nothing and is told TIMEOUT.")
{
    struct cluster c;
    struct told told = {0};
    redlock_request q = request(&told, REDLOCK_RENEW);
    redlock_lock *lock = NULL;
    redlock *r;

    r = client_start(&c, 3, 0);
    q.done = on_done;
    CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &lock));
    sleep_ms(3 * WAIT_MS);
    process_until(r, &told.done);
    CHECK(told.error != REDLOCK_OK);
    check_failed_handle(lock);
    redlock_process(r, 0);
    check_given_back(&c, &told);
    redlock_lock_free(lock);
    redlock_close(r);
}

/* ---- the caller wakes late ---- */

static _Atomic int in_handler;
static _Atomic int leave_handler;

/* The thread stands still here, as one that gets no CPU does. */
static void stand_still(int number)
{
    const struct timespec moment = {.tv_nsec = 1000000};

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

/* Another holds x; the caller waits for it, stands still, gets it, and goes on after its wait. */
static void grant_to_a_sleeper(uint32_t flags, int64_t ttl_ms)
{
    enum { LONG_WAIT_MS = 2000 };
    struct sigaction action = {.sa_handler = stand_still};
    struct told told = {0};
    struct sleeper s = {.request = request(&told, flags), .ttl_ms = ttl_ms};
    struct cluster c;
    redlock_stats stats = {.size = sizeof stats};
    pthread_t thread;
    redlock *other;
    redlock_lock *held;

    sigaction(SIGUSR1, &action, NULL);
    in_handler = leave_handler = 0;
    s.client = client_start(&c, 3, REDLOCK_THREAD);
    other = client_open_warm(&c, 0);
    held = client_lock(other, "x", TTL_MS);
    s.request.wait_ms = LONG_WAIT_MS;
    CHECK_INT(0, pthread_create(&thread, NULL, acquire_and_sleep, &s));
    CHECK(wait_until(is_set, &s.calling, 5000));
    sleep_ms(100); /* in its call, and asleep */
    CHECK_INT(0, pthread_kill(thread, SIGUSR1));
    CHECK(wait_until(is_set, &in_handler, 5000));
    client_unlock(held);
    while (now_ms() < s.called_ms + LONG_WAIT_MS + 100)
        sleep_ms(10);
    leave_handler = 1;
    pthread_join(thread, NULL);
    CHECK_ERR(REDLOCK_TIMEOUT, s.error);
    CHECK(s.lock == NULL);
    check_given_back(&c, &told);
    /* It is counted as late, or as lost: its owner never released it. */
    CHECK_OK(redlock_stats_get(s.client, &stats));
    CHECK_INT(0, stats.released + stats.held);
    CHECK_INT(1, stats.late + stats.lost_expired + stats.refused_timeout);
    redlock_close(other);
    redlock_close(s.client);
}

CASE(caller_wakes_late, "A caller that wakes after its wait gives back what it was granted.")
{
    grant_to_a_sleeper(REDLOCK_RENEW, TTL_MS);
}

CASE(caller_wakes_late_bound,
     "A caller that wakes after its wait gives back a lock bound to its thread.")
{
    grant_to_a_sleeper(REDLOCK_BOUND | REDLOCK_RENEW, TTL_MS);
}

CASE(caller_wakes_late_kept,
     "A caller that wakes after its wait gives back a lock that was to be kept.")
{
    grant_to_a_sleeper(REDLOCK_KEEP | REDLOCK_RENEW, TTL_MS);
}

CASE(caller_wakes_after_the_loss,
     "A lock that expired before its late caller woke is TIMEOUT, never told as lost.")
{
    grant_to_a_sleeper(0, 200);
}
