/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One caller beside an I/O thread drives the client by itself while the thread rests. Whatever
 * becomes of that caller, the thread does what it has to do, and does it in time.
 *
 * The linker puts the test's own epoll_wait() in the place of the real one. It knows who drives,
 * and can keep a driver from coming back, as a scheduler might that has no time for its thread.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"
#include "io/reactor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TTL_MS = 30000,
    OPEN_MS =
        10000, /* for the seat to be taken once; a machine that is too slow for it exists */
    HELD_MS = 5000, /* the longest that a driver is kept */
    SOON_MS = 1000, /* nothing here needs a node more than a few times */
};

/* ---- who waits ----------------------------------------------------------------------------- */

static _Thread_local bool is_caller; /* a thread of the test, not of the library */
static _Atomic int drive_count;      /* waits of callers: each is one in the seat */
static _Atomic int thread_waits;     /* those of the I/O thread */
static _Atomic int thread_timeout_ms;
static _Atomic bool is_wanted;   /* the next driver is kept when it has waited ... */
static _Atomic bool wants_timer; /* ... and has the timer among its events */
static _Atomic bool is_held;

int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms);

static bool has_timer(const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++)
        if (events[i].data.u32 == RL_REACTOR_TIMER)
            return true;
    return false;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    if (!is_caller) {
        thread_waits++;
        thread_timeout_ms = timeout_ms;
        return __real_epoll_wait(epoll, events, most, timeout_ms);
    }
    int count = __real_epoll_wait(epoll, events, most, timeout_ms);
    drive_count++;
    if (is_wanted && (!wants_timer || has_timer(events, count))) {
        is_wanted = false;
        is_held = true;
        for (int64_t end_ms = now_ms() + HELD_MS; is_held && now_ms() < end_ms;)
            sleep_ms(1);
        is_held = false;
    }
    return count;
}

/* ---- a caller that hammers ----------------------------------------------------------------- */

struct hammer {
    redlock *client;
    pthread_t thread;
    _Atomic bool stop;
    _Atomic int cycles, failed;
};

static int cycle(redlock *client, const char *name)
{
    redlock_lock *lock;
    int error = redlock_acquire(client, name, TTL_MS, NULL, &lock);
    if (error != REDLOCK_OK)
        return error;
    error = redlock_release(lock);
    redlock_lock_free(lock);
    return error;
}

static void *hammer_main(void *data)
{
    struct hammer *h = data;
    is_caller = true;
    while (!h->stop) {
        char name[32];
        snprintf(name, sizeof name, "hammer-%d", h->cycles);
        h->failed += cycle(h->client, name) != REDLOCK_OK;
        h->cycles++;
    }
    return NULL;
}

static bool has_driven(void *data)
{
    (void)data;
    return drive_count > 100;
}

static void hammer_start(struct hammer *h, redlock *client)
{
    *h = (struct hammer){.client = client};
    drive_count = 0;
    CHECK_INT(0, pthread_create(&h->thread, NULL, hammer_main, h));
    if (!wait_until(has_driven, NULL, OPEN_MS))
        check_skip("no %d ms in which this machine answers", 1);
}

static void hammer_stop(struct hammer *h)
{
    is_wanted = is_held = false;
    h->stop = true;
    pthread_join(h->thread, NULL);
    CHECK_INT(0, h->failed);
}

static bool is_caught(void *data)
{
    (void)data;
    return is_held;
}

/* The hammering thread does not come back from its wait, in the seat. */
static void hold_driver(bool with_timer)
{
    wants_timer = with_timer;
    is_wanted = true;
    CHECK(wait_until(is_caught, NULL, OPEN_MS));
}

static void let_driver_go(void)
{
    is_held = false;
}

struct scene {
    struct cluster c;
    redlock *r;
    struct hammer hammer;
};

static void begin(struct scene *s)
{
    cluster_start(&s->c, 3);
    s->r = client_open_warm(&s->c, REDLOCK_THREAD);
    hammer_start(&s->hammer, s->r);
}

static void end(struct scene *s)
{
    hammer_stop(&s->hammer);
    redlock_close(s->r);
}

/* Its own calls, so that the seat is surely open when something else is asked. */
static void drive_for_a_while(redlock *r)
{
    is_caller = true;
    drive_count = 0;
    for (int64_t end_ms = now_ms() + OPEN_MS; drive_count < 50 && now_ms() < end_ms;)
        CHECK_OK(cycle(r, "mine"));
    if (drive_count < 50)
        check_skip("no %d ms in which this machine answers", 1);
}

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
    h->by_caller = is_caller;
    h->lost_ns = now_ns();
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct holder *h = data;
    (void)lock;
    h->jeopardies += error != REDLOCK_OK;
    h->by_caller = is_caller;
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
        hold_driver(false);
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
    struct scene s;
    begin(&s);
    CHECK_BETWEEN(0, LATE_US, lose_some(s.r, false));
    end(&s);
}

CASE(losses_beside_a_stuck_driver, "A driver that does not come back delays no loss.")
{
    struct scene s;
    begin(&s);
    CHECK_BETWEEN(0, LATE_US, lose_some(s.r, true));
    end(&s);
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
    struct scene s;
    struct holder h;
    begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    stay_held(&h, RENEWED_FOR_MS);
    hammer_stop(&s.hammer);
    stay_held(&h, RENEWED_FOR_MS);
    client_unlock(h.lock);
    redlock_close(s.r);
}

CASE(renewals_beside_a_stuck_driver, "Renewals do not need a driver that does not come back.")
{
    struct scene s;
    struct holder h;
    begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    hold_driver(false);
    stay_held(&h, RENEWED_FOR_MS);
    end(&s);
    redlock_lock_free(h.lock);
}

CASE(the_timer_is_passed_on, "A driver that was thrown out keeps no timer to itself.")
{
    struct scene s;
    struct holder h;
    begin(&s);
    hold(s.r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    hold_driver(true);
    sleep_ms(20); /* by then the I/O thread has seen the timer, too, and taken the seat */
    hammer_stop(&s.hammer);
    stay_held(&h, RENEWED_FOR_MS);
    client_unlock(h.lock);
    redlock_close(s.r);
}

/* ---- company ------------------------------------------------------------------------------- */

CASE(a_second_caller, "Others are served beside a driver that does not come back.")
{
    struct scene s;
    redlock_report report = {.size = sizeof report};
    begin(&s);
    for (int i = 0; i < 5; i++) {
        hold_driver(false);
        int64_t start_ms = now_ms();
        CHECK_OK(cycle(s.r, "second"));
        CHECK_OK(redlock_ping(s.r, &report));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
        let_driver_go();
    }
    end(&s);
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    CHECK(!is_caller);
    *(_Atomic int *)data = error;
}

static bool is_told(void *data)
{
    return *(_Atomic int *)data != 1;
}

CASE(something_started, "What is started is told, and what is cancelled, beside such a driver.")
{
    struct scene s;
    begin(&s);
    cluster_set(&s.c, 0, 3, "redlock:occupied", "somebody", 60000);
    for (int i = 0; i < 5; i++) {
        _Atomic int error = 1;
        redlock_lock *lock;
        redlock_request q = {
            .size = sizeof q, .done = on_done, .data = &error, .wait_ms = 20000};
        hold_driver(false);
        CHECK_OK(redlock_start(s.r, i % 2 ? "free" : "occupied", TTL_MS, &q, &lock));
        if (i % 2 == 0)
            CHECK_OK(redlock_cancel(lock));
        CHECK(wait_until(is_told, &error, SOON_MS));
        CHECK_INT(i % 2 ? REDLOCK_OK : REDLOCK_CANCELED, error);
        redlock_lock_free(lock);
        let_driver_go();
    }
    end(&s);
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
    drive_for_a_while(r);
    CHECK_OK(redlock_start(r, "occupied", TTL_MS, &q, &lock));
    CHECK_OK(cycle(r, "mine")); /* driven, perhaps, while the I/O thread is being woken */
    int driven = drive_count;
    int64_t took_ms[100];
    for (int i = 0; i < 100; i++) {
        int64_t start_ms = now_ms();
        CHECK_OK(cycle(r, "mine"));
        took_ms[i] = now_ms() - start_ms;
    }
    CHECK_INT(driven, drive_count);
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
    struct scene s;
    begin(&s);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        void *lock;
        if (i == 2)
            hold_driver(false);
        if (i == 3)
            hammer_stop(&s.hammer);
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
        drive_for_a_while(r);
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
        drive_for_a_while(r);
        cluster_del(&c, 0, 3, "redlock:gone");
        for (int k = 0; k < 20; k++) /* the seat was left alone for too long */
            CHECK_OK(cycle(r, "mine"));
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
    drive_for_a_while(r);
    sleep_ms(100);
    int before = thread_waits;
    CHECK_INT(-1, thread_timeout_ms);
    sleep_ms(400);
    /* The nodes' clocks are read once a second: a timer, and an answer of each node. */
    CHECK_BETWEEN(0, 10, thread_waits - before);
    CHECK_INT(-1, thread_timeout_ms);
    redlock_close(r);
}

static void *cycle_until_cancelled(void *data)
{
    is_caller = true;
    for (;;) {
        CHECK_OK(cycle(data, "cancelled"));
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
        drive_count = 0;
        CHECK_INT(0, pthread_create(&thread, NULL, cycle_until_cancelled, r));
        bool driven = wait_until(has_driven, NULL, OPEN_MS);
        if (!driven && i == 0)
            check_skip("no %d ms in which this machine answers", 1);
        CHECK(driven); /* the one before has not left its seat occupied */
        CHECK_INT(0, pthread_cancel(thread));
        CHECK_INT(0, pthread_join(thread, NULL));
        CHECK_OK(cycle(r, "cancelled"));
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
        drive_for_a_while(r);
        pid_t pid = fork();
        if (pid == 0) {
            bool right = redlock_acquire(r, "x", TTL_MS, NULL, &lock) == REDLOCK_FORKED;
            redlock_close(r);
            _exit(right ? 0 : 1);
        }
        CHECK(pid > 0);
        CHECK_OK(cycle(r, "parent"));
        CHECK_INT(pid, waitpid(pid, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_OK(cycle(r, "parent"));
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
    struct hammer hammer;
    hammer_start(&hammer, r);
    hold(r, &h, "renewed", RENEWED_TTL_MS, REDLOCK_RENEW);
    hold_driver(false);
    for (int i = 0; i < 20; i++) {
        char name[32];
        int64_t start_ms = now_ms();
        snprintf(name, sizeof name, "any-%d", i);
        CHECK_OK(cycle(r, name));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    }
    stay_held(&h, RENEWED_FOR_MS / 2);
    hammer_stop(&hammer);
    client_unlock(h.lock);
    redlock_close(r);
}
