/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One caller beside an I/O thread drives the client by itself while the thread rests. Whatever
 * becomes of that caller, the thread does what it has to do, and does it in time.
 */
#include "check.h"
#include "clock.h"
#include "fleet.h"
#include "seat_driver.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SOON_MS = 1000 }; /* nothing here needs a node more than a few times */

/* ---- losses and renewals ------------------------------------------------------------------- */

struct holder {
    redlock_lock *lock;
    int64_t due_ns; /* when it is to be told of the loss */
    _Atomic int64_t lost_ns;
    _Atomic int jeopardies;
    _Atomic bool by_caller;
};

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct holder *h = data;
    (void)lock;
    CHECK_INT(REDLOCK_LOST, error);
    h->by_caller = seat_is_caller;
    h->lost_ns = now_ns();
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct holder *h = data;
    (void)lock;
    h->jeopardies += error != REDLOCK_OK;
    h->by_caller = seat_is_caller;
}

static void hold(redlock *r, struct holder *h, const char *name, int64_t ttl_ms, uint32_t flags)
{
    redlock_request q = {
        .size = sizeof q, .flags = flags, .lost = on_lost, .jeopardy = on_jeopardy, .data = h};
    *h = (struct holder){0};
    CHECK_OK(redlock_acquire(r, name, ttl_ms, &q, &h->lock));
    h->due_ns = redlock_deadline_ns(h->lock) - ttl_ms * 1000000 / 20;
}

static bool is_lost(void *data)
{
    return ((struct holder *)data)->lost_ns != 0;
}

enum { LOSSES = 9, LOSS_TTL_MS = 300 };

/* How late the holders are told, in the middle; the callbacks are never a caller's. */
static int64_t lose_some(redlock *r, bool beside_a_stuck_driver)
{
    static struct holder h[LOSSES];
    int64_t late_us[LOSSES];
    for (int i = 0; i < LOSSES; i++) {
        char name[32];
        snprintf(name, sizeof name, "lost-%d", i);
        hold(r, &h[i], name, LOSS_TTL_MS, 0);
        sleep_ms(7); /* so that they end at different moments of a call */
    }
    if (beside_a_stuck_driver)
        seat_hold_driver(false);
    for (int i = 0; i < LOSSES; i++) {
        CHECK(wait_until(is_lost, &h[i], LOSS_TTL_MS + SOON_MS));
        CHECK(!h[i].by_caller);
        late_us[i] = (h[i].lost_ns - h[i].due_ns) / 1000;
        redlock_lock_free(h[i].lock);
    }
    int64_t middle_us = median(late_us, LOSSES);
    printf("# told of the loss %lld us after it was due, in the middle\n",
           (long long)middle_us);
    return middle_us;
}

enum { LATE_US = CHECK_SANITIZED ? 15000 : 8000 };

CASE(losses_while_a_caller_drives, "The I/O thread tells of a loss at once, whoever drives.")
{
    struct seat_scene s;
    seat_begin(&s);
    CHECK_BETWEEN(0, LATE_US + 1000 * pulse_late_ms(), lose_some(s.r, false));
    seat_end(&s);
}

CASE(losses_beside_a_stuck_driver, "A driver that does not come back delays no loss.")
{
    struct seat_scene s;
    seat_begin(&s);
    CHECK_BETWEEN(0, LATE_US + 1000 * pulse_late_ms(), lose_some(s.r, true));
    seat_end(&s);
}

enum { RENEWED_TTL_MS = 1200, RENEWED_FOR_MS = 2500 };

static void stay_held(struct holder *h, int64_t for_ms)
{
    for (int64_t end_ms = now_ms() + for_ms; now_ms() < end_ms; sleep_ms(5))
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(h->lock));
    CHECK_INT(0, h->jeopardies);
    CHECK(!h->by_caller);
}

CASE(renewals_while_a_caller_drives, "Renewals come in time while it drives, and after that.")
{
    struct seat_scene s;
    struct holder h;
    seat_begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    stay_held(&h, RENEWED_FOR_MS);
    seat_hammer_stop(&s.hammer);
    stay_held(&h, RENEWED_FOR_MS);
    client_unlock(h.lock);
    redlock_close(s.r);
}

CASE(renewals_beside_a_stuck_driver, "Renewals do not need a driver that does not come back.")
{
    struct seat_scene s;
    struct holder h;
    seat_begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    seat_hold_driver(false);
    stay_held(&h, RENEWED_FOR_MS);
    seat_end(&s);
    redlock_lock_free(h.lock);
}

CASE(the_timer_is_passed_on, "A driver that was thrown out keeps no timer to itself.")
{
    struct seat_scene s;
    struct holder h;
    seat_begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    seat_hold_driver(true);
    sleep_ms(20); /* by then the I/O thread has seen the timer, too, and taken the seat */
    seat_hammer_stop(&s.hammer);
    stay_held(&h, RENEWED_FOR_MS);
    client_unlock(h.lock);
    redlock_close(s.r);
}

CASE(the_timer_is_not_needed,
     "A driver that has the timer and does not come back delays nothing.")
{
    struct seat_scene s;
    struct holder h;
    seat_begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    seat_hold_driver(true);
    stay_held(&h, RENEWED_FOR_MS);
    seat_end(&s);
    redlock_lock_free(h.lock);
}

/* ---- company ------------------------------------------------------------------------------- */

CASE(a_second_caller, "Others are served beside a driver that does not come back.")
{
    struct seat_scene s;
    redlock_report report = {.size = sizeof report};
    seat_begin(&s);
    for (int i = 0; i < 5; i++) {
        seat_hold_driver(false);
        int64_t start_ms = now_ms();
        CHECK_OK(seat_cycle(s.r, "second"));
        CHECK_OK(redlock_ping(s.r, &report));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
        seat_let_driver_go();
    }
    seat_end(&s);
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    CHECK(!seat_is_caller);
    *(_Atomic int *)data = error;
}

static bool is_told(void *data)
{
    return *(_Atomic int *)data != 1;
}

CASE(something_started, "What is started is told, and what is cancelled, beside such a driver.")
{
    struct seat_scene s;
    seat_begin(&s);
    cluster_set(&s.c, 0, 3, "redlock:occupied", "somebody", 60000);
    for (int i = 0; i < 5; i++) {
        _Atomic int error = 1;
        redlock_lock *lock;
        redlock_request q = {
            .size = sizeof q, .done = on_done, .data = &error, .wait_ms = 20000};
        seat_hold_driver(false);
        CHECK_OK(redlock_start(s.r, i % 2 ? "free" : "occupied", TTL_MS, &q, &lock));
        if (i % 2 == 0)
            CHECK_OK(redlock_cancel(lock));
        CHECK(wait_until(is_told, &error, SOON_MS));
        CHECK_INT(i % 2 ? REDLOCK_OK : REDLOCK_CANCELED, error);
        redlock_lock_free(lock);
        seat_let_driver_go();
    }
    seat_end(&s);
}

CASE(something_under_way,
     "While anybody else waits for an answer, the I/O thread does not rest.")
{
    struct cluster c;
    _Atomic int error = 1;
    redlock_lock *lock;
    redlock_request q = {.size = sizeof q, .done = on_done, .data = &error, .wait_ms = 60000};
    cluster_start(&c, 3);
    cluster_set(&c, 0, 3, "redlock:occupied", "somebody", 60000);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    seat_drive(r);
    CHECK_OK(redlock_start(r, "occupied", TTL_MS, &q, &lock));
    CHECK_OK(seat_cycle(r, "mine")); /* driven, perhaps, while the I/O thread is being woken */
    int driven = seat_drives;
    int64_t took_ms[100];
    for (int i = 0; i < 100; i++) {
        int64_t start_ms = now_ms();
        CHECK_OK(seat_cycle(r, "mine"));
        took_ms[i] = now_ms() - start_ms;
    }
    CHECK_INT(driven, seat_drives);
    CHECK_BETWEEN(0, SLACK_MS, median(took_ms, 100));
    CHECK_INT(1, error);
    redlock_lock_free(lock);
    redlock_close(r);
}

static void *bind_and_end(void *data)
{
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_BOUND};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(data, "bound", TTL_MS, &q, &lock));
    return lock;
}

CASE(bound_threads_end, "Locks of threads that end are released, driven or not.")
{
    struct seat_scene s;
    seat_begin(&s);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        void *lock;
        if (i == 2)
            seat_hold_driver(false);
        if (i == 3)
            seat_hammer_stop(&s.hammer);
        CHECK_INT(0, pthread_create(&thread, NULL, bind_and_end, s.r));
        pthread_join(thread, &lock);
        CHECK(cluster_await(&s.c, "redlock:bound", 0, SOON_MS / 2));
        redlock_lock_free(lock);
    }
    redlock_close(s.r);
}

/* ---- the caller itself --------------------------------------------------------------------- */

static int64_t own_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

CASE(a_wait_that_times_out, "Who has to wait waits as long as it said, and holds nothing up.")
{
    struct cluster c;
    cluster_start(&c, 3);
    cluster_set(&c, 0, 3, "redlock:occupied", "somebody", 60000);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 3; i++) {
        redlock_request q = {.size = sizeof q, .wait_ms = 150};
        redlock_lock *lock;
        seat_drive(r);
        int64_t start_ms = now_ms();
        int64_t start_cpu_ms = own_cpu_ms();
        CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "occupied", TTL_MS, &q, &lock));
        CHECK_BETWEEN(149, 150 + SLACK_MS, now_ms() - start_ms);
        CHECK_BETWEEN(0, 20, own_cpu_ms() - start_cpu_ms); /* it sleeps */
    }
    redlock_close(r);
}

CASE(its_own_call_finds_the_loss,
     "The callback is the I/O thread's, and has run before it returns.")
{
    struct cluster c;
    struct holder h;
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 10; i++) {
        hold(r, &h, "gone", TTL_MS, 0);
        seat_drive(r);
        cluster_del(&c, 0, 3, "redlock:gone");
        for (int k = 0; k < 20; k++) /* the seat was left alone for too long */
            CHECK_OK(seat_cycle(r, "mine"));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(h.lock, TTL_MS));
        CHECK(is_lost(&h));
        CHECK(!h.by_caller);
        redlock_lock_free(h.lock);
    }
    redlock_close(r);
}

CASE(it_costs_nothing_afterwards, "When nobody calls any more the I/O thread sleeps.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    seat_drive(r);
    sleep_ms(100);
    int before = seat_thread_waits;
    CHECK_INT(-1, seat_thread_timeout_ms);
    sleep_ms(400);
    /* The nodes' clocks are read once a second: a timer, and an answer of each node. */
    CHECK_BETWEEN(0, 10, seat_thread_waits - before);
    CHECK_INT(-1, seat_thread_timeout_ms);
    redlock_close(r);
}

static void *cycle_until_cancelled(void *data)
{
    seat_is_caller = true;
    for (;;) {
        CHECK_OK(seat_cycle(data, "cancelled"));
        pthread_testcancel();
    }
    return NULL;
}

CASE(a_thread_is_cancelled, "pthread_cancel() does not end a call half-way: others go on.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        seat_drives = 0;
        CHECK_INT(0, pthread_create(&thread, NULL, cycle_until_cancelled, r));
        bool driven = wait_until(seat_has_driven, NULL, OPEN_MS);
        if (!driven && i == 0)
            check_skip("no %d ms in which this machine answers", 1);
        CHECK(driven); /* the one before has not left its seat occupied */
        CHECK_INT(0, pthread_cancel(thread));
        CHECK_INT(0, pthread_join(thread, NULL));
        CHECK_OK(seat_cycle(r, "cancelled"));
    }
    redlock_close(r);
}

CASE(forked_while_it_rests, "A child can close a client whose I/O thread rests.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 5; i++) {
        int status;
        redlock_lock *lock;
        seat_drive(r);
        pid_t pid = fork();
        if (pid == 0) {
            bool right = redlock_acquire(r, "x", TTL_MS, NULL, &lock) == REDLOCK_FORKED;
            redlock_close(r);
            _exit(right ? 0 : 1);
        }
        CHECK(pid > 0);
        CHECK_OK(seat_cycle(r, "parent"));
        CHECK_INT(pid, waitpid(pid, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_OK(seat_cycle(r, "parent"));
    }
    redlock_close(r);
}

CASE(several_quorums,
     "Each quorum has its seat; a stuck driver of one does not matter to others.")
{
    struct fleet f;
    struct holder h;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, REDLOCK_THREAD);
    struct seat_hammer hammer;
    seat_hammer_start(&hammer, r);
    hold(r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    seat_hold_driver(false);
    for (int i = 0; i < 20; i++) {
        char name[32];
        int64_t start_ms = now_ms();
        snprintf(name, sizeof name, "any-%d", i);
        CHECK_OK(seat_cycle(r, name));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    }
    stay_held(&h, RENEWED_FOR_MS / 2);
    seat_hammer_stop(&hammer);
    client_unlock(h.lock);
    redlock_close(r);
}
