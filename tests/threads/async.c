/* SPDX-License-Identifier: BSD-2-Clause */
/* The asynchronous interface: one descriptor, callbacks, hundreds of locks in flight. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN_FLIGHT = 256 };

/* One poll loop as a user would write it: never blocks in the library. */
static void loop_until(redlock *r, const _Atomic int *counter, int wanted)
{
    int64_t end_ms = now_ms() + 15000;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    CHECK(p.fd >= 0);
    while (*counter < wanted) {
        if (now_ms() >= end_ms)
            FAIL("only %d of %d callbacks", *counter, wanted);
        poll(&p, 1, 1000);
        CHECK(redlock_process(r, 0) >= 0);
    }
}

struct task {
    redlock *client;
    redlock_lock *lock;
    _Atomic int *finished;
    _Atomic int calls;
    _Atomic int error;
    int stage;
};

static void count_done(redlock_lock *lock, int error, void *data)
{
    struct task *t = data;
    CHECK(lock != NULL); /* t->lock may not be known yet on the I/O thread */
    t->error = error;
    t->calls++;
    (*t->finished)++;
}

static redlock_lock *start(redlock *r, const char *name, redlock_done_fn *done, void *data)
{
    redlock_request q = {.size = sizeof q, .done = done, .data = data};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_start(r, name, 20000, &q, &lock));
    CHECK(lock != NULL);
    return lock;
}

CASE(poll_loop, "A lock is taken, extended and released through one descriptor.")
{
    struct cluster c;
    _Atomic int finished = 0;
    cluster_start(&c, 5);
    redlock *r = client_open(&c, 0);
    struct task t = {.client = r, .finished = &finished};
    t.lock = start(r, "x", count_done, &t);
    CHECK_INT(0, t.calls); /* never from within the call */
    loop_until(r, &finished, 1);
    CHECK_OK(t.error);
    CHECK(redlock_remaining_ms(t.lock) > 0);
    CHECK_OK(redlock_start_extend(t.lock, 30000, count_done, &t));
    loop_until(r, &finished, 2);
    CHECK_OK(t.error);
    CHECK(redlock_remaining_ms(t.lock) > 20000);
    CHECK_OK(redlock_start_release(t.lock, count_done, &t));
    loop_until(r, &finished, 3);
    CHECK_OK(t.error);
    redlock_lock_free(t.lock);
    CHECK(cluster_await_empty(&c, 1000));
    redlock_close(r);
}

CASE(nothing_before_process, "Nothing is sent before redlock_process() runs.")
{
    struct cluster c;
    _Atomic int finished = 0;
    redlock *r = client_start(&c, 3, 0);
    struct task t = {.client = r, .finished = &finished};
    t.lock = start(r, "x", count_done, &t);
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    CHECK_INT(1, poll(&p, 1, 1000)); /* but the descriptor says that there is work */
    CHECK_INT(0, cluster_count(&c, "redlock:x"));
    loop_until(r, &finished, 1);
    redlock_lock_free(t.lock);
    redlock_close(r);
}

CASE(idle_descriptor_is_quiet, "The descriptor of an idle client does not wake its loop.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    client_unlock(client_lock(r, "x", 10000));
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    int wakes = 0;
    int64_t end_ms = now_ms() + 500;
    while (now_ms() < end_ms) {
        wakes += poll(&p, 1, (int)(end_ms - now_ms())) == 1;
        redlock_process(r, 0);
    }
    CHECK_BETWEEN(0, 20, wakes);
    redlock_close(r);
}

static void in_flight(uint32_t flags)
{
    static struct task tasks[IN_FLIGHT];
    struct cluster c;
    _Atomic int finished = 0;
    char name[32];
    cluster_start(&c, 5);
    redlock *r = client_open(&c, flags);
    for (int i = 0; i < IN_FLIGHT; i++) {
        tasks[i] = (struct task){.client = r, .finished = &finished};
        snprintf(name, sizeof name, "n%d", i);
        tasks[i].lock = start(r, name, count_done, &tasks[i]);
    }
    for (int step = 1; step <= 3; step++) {
        if (flags == 0)
            loop_until(r, &finished, step * IN_FLIGHT);
        for (int64_t end_ms = now_ms() + 15000; finished < step * IN_FLIGHT; sleep_ms(1))
            CHECK(now_ms() < end_ms);
        for (int i = 0; i < IN_FLIGHT; i++) {
            CHECK_OK(tasks[i].error);
            CHECK_INT(step, tasks[i].calls);
            if (step == 1)
                CHECK_OK(redlock_start_extend(tasks[i].lock, 25000, count_done, &tasks[i]));
            else if (step == 2)
                CHECK_OK(redlock_start_release(tasks[i].lock, count_done, &tasks[i]));
        }
    }
    CHECK(cluster_await_empty(&c, 2000));
    for (int i = 0; i < IN_FLIGHT; i++) {
        CHECK_INT(3, tasks[i].calls); /* exactly once per operation */
        redlock_lock_free(tasks[i].lock);
    }
    redlock_close(r);
}

CASE(many_in_flight, "256 locks in flight on one thread are each done exactly once per step.")
{
    in_flight(0);
}

CASE(many_in_flight_io_thread,
     "256 locks in flight on the I/O thread are each done exactly once per step.")
{
    in_flight(REDLOCK_THREAD);
}

/* acquire -> extend -> release -> free -> acquire the next, all from inside callbacks */
static _Atomic int chain_steps;
static _Atomic int chain_ends;

static void chain(redlock_lock *lock, int error, void *data)
{
    struct task *t = data;
    CHECK_OK(error);
    chain_steps++;
    switch (t->stage++ % 3) {
    case 0:
        CHECK(redlock_remaining_ms(lock) > 0);
        CHECK_OK(redlock_start_extend(lock, 25000, chain, t));
        break;
    case 1:
        CHECK_OK(redlock_start_release(lock, chain, t));
        break;
    default:
        redlock_lock_free(lock); /* inside its own done */
        if (t->stage < 30)
            start(t->client, "chain", chain, t);
        else
            chain_ends++;
        break;
    }
}

CASE(callbacks_may_do_it_all, "A callback may start, extend, release and free locks.")
{
    struct cluster c;
    cluster_start(&c, 5);
    redlock *r = client_open(&c, 0);
    struct task t = {.client = r};
    start(r, "chain", chain, &t);
    loop_until(r, &chain_ends, 1);
    CHECK_INT(30, chain_steps);
    CHECK(cluster_await_empty(&c, 1000));
    redlock_close(r);
}

CASE(callbacks_may_do_it_all_io_thread,
     "A callback on the I/O thread may start, extend, release and free locks.")
{
    struct cluster c;
    cluster_start(&c, 5);
    redlock *r = client_open(&c, REDLOCK_THREAD);
    struct task t = {.client = r};
    start(r, "chain", chain, &t);
    for (int64_t end_ms = now_ms() + 15000; chain_ends == 0; sleep_ms(1))
        CHECK(now_ms() < end_ms);
    CHECK_INT(30, chain_steps);
    redlock_close(r);
}

static void free_inside(redlock_lock *lock, int error, void *data)
{
    (void)error;
    redlock_lock_free(lock);
    (*(_Atomic int *)data)++;
}

CASE(free_inside_done, "A handle freed inside its done callback releases its lock.")
{
    struct cluster c;
    _Atomic int finished = 0;
    cluster_start(&c, 3);
    redlock *r = client_open(&c, 0);
    for (int i = 0; i < 20; i++) {
        start(r, "x", free_inside, &finished);
        loop_until(r, &finished, i + 1);
        redlock_process(r, 0);
        CHECK(cluster_await(&c, "redlock:x", 0, 1000));
    }
    redlock_close(r);
}

static void no_check(const redlock_check *check, void *data)
{
    (void)data;
    FAIL("told about %s", check->name);
}

static void block_inside(redlock_lock *lock, int error, void *data)
{
    struct task *t = data;
    redlock_lock *other = NULL;
    redlock_info info = {.size = sizeof info};
    CHECK_OK(error);
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(t->client, "y", 1000, NULL, &other));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_ERR(REDLOCK_INVAL, redlock_release(lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_extend(lock, 1000));
    CHECK_ERR(REDLOCK_INVAL, redlock_process(t->client, 0));
    CHECK_ERR(REDLOCK_INVAL, redlock_query(t->client, "y", &info, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(t->client, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_admit(t->client, NULL));
    CHECK_ERR(REDLOCK_INVAL, redlock_audit(t->client, 1000, no_check, NULL));
    (*t->finished)++;
}

struct restarts {
    redlock *client;
    redlock_lock *lock[64];
    int calls;
};

static void start_again(redlock_lock *lock, int error, void *data)
{
    struct restarts *t = data;
    redlock_request q = {.size = sizeof q, .done = start_again, .data = t};
    (void)lock;
    CHECK_ERR(REDLOCK_NOQUORUM, error);
    if (++t->calls < (int)(sizeof t->lock / sizeof t->lock[0]))
        CHECK_OK(redlock_start(t->client, "x", 20000, &q, &t->lock[t->calls]));
}

CASE(starts_again,
     "A done that starts anew on nodes which are down lets redlock_process() return.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    struct restarts t = {.client = r};
    redlock_request q = {.size = sizeof q, .done = start_again, .data = &t};
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    cluster_each(&c, 0, 3, server_kill);
    CHECK_OK(redlock_start(r, "x", 20000, &q, &t.lock[0]));
    for (int64_t end_ms = now_ms() + 15000; t.calls < 64;) {
        CHECK(now_ms() < end_ms);
        CHECK(poll(&p, 1, 5000) == 1);
        CHECK_BETWEEN(0, 1, redlock_process(r, 0));
    }
    for (int i = 0; i < t.calls; i++)
        redlock_lock_free(t.lock[i]);
    redlock_close(r);
}

CASE(no_blocking_in_callbacks, "Blocking calls from a callback are INVAL and do nothing.")
{
    struct cluster c;
    _Atomic int finished = 0;
    cluster_start(&c, 3);
    for (uint32_t flags = 0; flags <= REDLOCK_THREAD; flags++) {
        redlock *r = client_open(&c, flags);
        struct task t = {.client = r, .finished = &finished};
        finished = 0;
        redlock_lock *lock = start(r, "x", block_inside, &t);
        if (flags == 0)
            loop_until(r, &finished, 1);
        for (int64_t end_ms = now_ms() + 5000; finished == 0; sleep_ms(1))
            CHECK(now_ms() < end_ms);
        client_unlock(lock);
        redlock_close(r);
    }
}

static void note_detail(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    CHECK_ERR(REDLOCK_BUSY, error);
    CHECK(redlock_detail()[0] != '\0');
    (*(_Atomic int *)data)++;
}

CASE(detail_inside_done, "Inside done, redlock_detail() is about the error delivered.")
{
    struct cluster c;
    _Atomic int finished = 0;
    cluster_start(&c, 3);
    cluster_set(&c, 0, 3, "redlock:x", "another", 30000);
    redlock *r = client_open(&c, 0);
    redlock_lock *lock = start(r, "x", note_detail, &finished);
    loop_until(r, &finished, 1);
    CHECK_INT(0, redlock_remaining_ms(lock));
    redlock_report report = {.size = sizeof report};
    CHECK_OK(redlock_lock_report(lock, &report));
    CHECK(report_votes(&report, REDLOCK_VOTE_TAKEN) >= 2);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(no_descriptor_with_io_thread, "With the I/O thread there is no descriptor to watch.")
{
    struct cluster c;
    cluster_start(&c, 1);
    redlock *r = client_open(&c, REDLOCK_THREAD);
    CHECK_ERR(REDLOCK_INVAL, redlock_fd(r));
    CHECK(redlock_detail()[0] != '\0');
    redlock_close(r);
}

CASE(contended_in_flight,
     "64 requests of one client for one name all get it, one after the other.")
{
    static struct task tasks[64];
    struct cluster c;
    _Atomic int finished = 0;
    cluster_start(&c, 3);
    redlock *r = client_open(&c, 0);
    redlock_request q = {.size = sizeof q, .wait_ms = REDLOCK_WAIT_FOREVER, .done = count_done};
    for (int i = 0; i < 64; i++) {
        tasks[i] = (struct task){.client = r, .finished = &finished};
        q.data = &tasks[i];
        CHECK_OK(redlock_start(r, "x", 20000, &q, &tasks[i].lock));
    }
    for (int n = 1; n <= 64; n++) {
        loop_until(r, &finished, n);
        CHECK_INT(n, finished); /* no other while it is held */
        int holder = -1;
        for (int i = 0; i < 64; i++) {
            if (tasks[i].calls == 0 || redlock_remaining_ms(tasks[i].lock) == 0)
                continue;
            CHECK_INT(-1, holder);
            CHECK_OK(tasks[i].error);
            holder = i;
        }
        CHECK(holder >= 0);
        CHECK_OK(redlock_release(tasks[holder].lock));
    }
    for (int i = 0; i < 64; i++)
        redlock_lock_free(tasks[i].lock);
    redlock_close(r);
}
