/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a lock: as long as asked, never longer, never granted late; and why it failed. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "proxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static redlock *open_held(struct cluster *c, uint32_t flags)
{
    cluster_start(c, 3);
    redlock *r = client_open(c, flags);
    client_warm(r);
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
    return r;
}

static void wait_times_out(uint32_t flags)
{
    struct cluster c;
    redlock *r = open_held(&c, flags);
    int64_t took_ms[5];
    int told = 0;
    for (int i = 0; i < 5; i++) {
        redlock_report report = {.size = sizeof report};
        redlock_request q = {.size = sizeof q, .wait_ms = 300, .report = &report};
        redlock_lock *lock = NULL;
        int64_t start_ns = now_ns();
        CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "x", 10000, &q, &lock));
        int64_t took_ns = now_ns() - start_ns;
        took_ms[i] = took_ns / 1000000;
        CHECK_BETWEEN(300, 1500 + pulse_late_ms(), took_ms[i]);
        CHECK(lock == NULL);
        told += report_votes(&report, REDLOCK_VOTE_TAKEN) >= 1;
    }
    CHECK_BETWEEN(3, 5, told); /* not where the end cut an attempt off */
    /* A starved machine only ever adds: what the library does itself shows in the best. */
    median(took_ms, 5); /* sorts */
    CHECK_BETWEEN(300, (CHECK_SANITIZED ? 400 : 320) + pulse_late_ms(), took_ms[0]);
    redlock_close(r);
}

CASE(wait_is_exact, "A wait of 300 ms on a held lock is TIMEOUT after 300 to 320 ms.")
{
    wait_times_out(0);
}

CASE(wait_is_exact_io_thread,
     "With the I/O thread a wait of 300 ms is TIMEOUT after 300 to 320 ms.")
{
    wait_times_out(REDLOCK_THREAD);
}

CASE(try_is_quick, "A try on a held lock is BUSY at once.")
{
    struct cluster c;
    redlock *r = open_held(&c, 0);
    int64_t took_ms[9];
    for (int i = 0; i < 9; i++) {
        int64_t start_ms = now_ms();
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
        took_ms[i] = now_ms() - start_ms;
    }
    median(took_ms, 9); /* sorts: a busy machine only ever adds */
    CHECK_BETWEEN(0, (CHECK_SANITIZED ? 50 : 10) + pulse_late_ms(), took_ms[0]);
    redlock_close(r);
}

CASE(short_wait, "A wait shorter than one attempt ends at its deadline.")
{
    struct cluster c;
    redlock *r = open_held(&c, 0);
    cluster_each(&c, 0, 3, server_freeze);
    redlock_request q = {.size = sizeof q, .wait_ms = 10};
    redlock_lock *lock = NULL;
    int64_t start_ms = now_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", 10000, &q, &lock));
    CHECK_BETWEEN(10, 10 + SLACK_MS, now_ms() - start_ms);
    redlock_close(r);
}

/* A quorum of grants arrives long after the wait has ended: they must be given back. */
CASE(never_granted_late, "Grants that arrive after the end of the wait do not count.")
{
    struct cluster c;
    struct proxy p[3];
    cluster_start(&c, 3);
    proxies_start(p, &c, 3);
    redlock *r = client_open_warm(&c, 0);
    for (int i = 0; i < 3; i++)
        p[i].switches->down_delay_ms = 500;
    redlock_request q = {.size = sizeof q, .wait_ms = 100};
    redlock_lock *lock = NULL;
    int64_t start_ms = now_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", 20000, &q, &lock));
    CHECK_BETWEEN(100, 120 + SLACK_MS, now_ms() - start_ms);
    CHECK(cluster_await_empty(&c, 10000)); /* and rolled back */
    redlock_close(r);
}

CASE(wins_when_released, "A waiter gets the lock soon after its release.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *holder = client_open(&c, 0);
    redlock *waiter = client_open(&c, REDLOCK_THREAD);
    client_warm(waiter);
    redlock_lock *lock = client_lock(holder, "x", 400);
    redlock_request q = {.size = sizeof q, .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_lock *won = NULL;
    int64_t start_ms = now_ms();
    CHECK_OK(redlock_acquire(waiter, "x", 10000, &q, &won));
    CHECK_BETWEEN(300, 400 + 20 + SLACK_MS, now_ms() - start_ms);
    CHECK_INT(0, redlock_remaining_ms(lock)); /* never two holders */
    redlock_lock_free(lock);
    client_unlock(won);
    redlock_close(holder);
    redlock_close(waiter);
}

/* Calls of a command on a node since the counters were forgotten. */
static int calls(const struct server *node, const char *name)
{
    char line[32];
    int count = 0;
    const char *list = server_commands(node);
    snprintf(line, sizeof line, "%s ", name);
    for (const char *p = list; (p = strstr(p, line)) != NULL; p++)
        if (p == list || p[-1] == '\n')
            sscanf(p + strlen(line), "%d", &count);
    return count;
}

CASE(waiting_is_cheap, "A waiter sleeps in the queue: it neither polls nor is forgotten there.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock_options o = client_options(&c);
    o.retry_min_ms = 1;
    o.retry_max_ms = 1; /* no matter: this is no retry */
    redlock *r = client_open_with(&o);
    client_warm(r);
    cluster_set(&c, 0, 3, "redlock:x", "another", 60000);
    server_forget_commands(&c.node[0]);
    redlock_request q = {.size = sizeof q, .wait_ms = 2500};
    redlock_lock *lock = NULL;
    int64_t stalled_ms = pulse_stalled_ms();
    CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "x", 10000, &q, &lock));
    /* A node that a late machine keeps from answering is asked again, and a heartbeat comes late. */
    int64_t odd = (pulse_stalled_ms() - stalled_ms) / 500;
    /* A try, a ticket, a place, a heartbeat every second, a departure. */
    /* The try, the place, the look after subscribing and two heartbeats: each tries the key. */
    CHECK_BETWEEN(1, 5 + odd, calls(&c.node[0], "set"));
    CHECK_BETWEEN(4 - odd, 8 + odd, calls(&c.node[0], "evalsha") + calls(&c.node[0], "eval"));
    redlock_close(r);
}

/* Where too few nodes answer there is no queue to wait in. */
CASE(retries_are_bounded, "Without a majority a waiter neither sleeps too long nor hammers.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock_options o = client_options(&c);
    o.retry_min_ms = 10;
    o.retry_max_ms = 100;
    redlock *r = client_open_with(&o);
    client_warm(r);
    server_kill(&c.node[1]);
    server_kill(&c.node[2]);
    server_forget_commands(&c.node[0]);
    redlock_request q = {.size = sizeof q, .wait_ms = 2000};
    redlock_lock *lock = NULL;
    int64_t stalled_ms = pulse_stalled_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", 10000, &q, &lock));
    stalled_ms = pulse_stalled_ms() - stalled_ms; /* a retry less for each retry_max_ms */
    CHECK_BETWEEN(10 - stalled_ms / 100, 120, calls(&c.node[0], "set"));
    redlock_close(r);
}

CASE(outcomes_are_distinct, "BUSY, TIMEOUT and NOQUORUM differ in code and in words.")
{
    struct cluster c;
    char busy[512], timeout[512];
    redlock *r = open_held(&c, 0);
    redlock_request q = {.size = sizeof q, .wait_ms = 300};
    redlock_lock *lock = NULL;
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    snprintf(busy, sizeof busy, "%s", redlock_detail());
    CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "x", 10000, &q, &lock));
    snprintf(timeout, sizeof timeout, "%s", redlock_detail());
    server_kill(&c.node[0]);
    server_kill(&c.node[1]);
    q.wait_ms = 1000; /* long enough to learn of it on a busy machine */
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", 10000, &q, &lock));
    CHECK(strcmp(busy, timeout) != 0);
    CHECK(strcmp(busy, redlock_detail()) != 0 && strcmp(timeout, redlock_detail()) != 0);
    redlock_close(r);
}

CASE(busy_with_a_dead_minority,
     "A lock held by another on the living majority is BUSY, not NOQUORUM.")
{
    struct cluster c;
    redlock *r = open_held(&c, 0);
    server_kill(&c.node[2]);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    redlock_close(r);
}

CASE(partly_held,
     "With two of five keys held by another the acquire wins, with three it is BUSY.")
{
    struct cluster c;
    redlock *r = client_start(&c, 5, 0);
    cluster_set(&c, 0, 2, "redlock:x", "another", 60000);
    CHECK_OK(client_try(r, "x", 10000));
    cluster_set(&c, 2, 1, "redlock:x", "another", 60000);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    redlock_close(r);
}

/* ---- cancel from another thread ------------------------------------------------------------ */

struct shared {
    redlock_lock *lock;
    _Atomic int started;
    struct result result;
};

static void *cancel_soon(void *data)
{
    struct shared *s = data;
    while (!s->started)
        sleep_ms(1);
    sleep_ms(30);
    CHECK_OK(redlock_cancel(s->lock));
    return NULL;
}

CASE(cancel_from_another_thread,
     "Another thread can cancel a wait while the waiter drives the client.")
{
    struct cluster c;
    redlock *r = open_held(&c, 0);
    for (int i = 0; i < 10; i++) {
        struct shared s = {0};
        pthread_t thread;
        redlock_request q = {.size = sizeof q,
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = result_note,
                             .data = &s.result};
        CHECK_INT(0, pthread_create(&thread, NULL, cancel_soon, &s));
        CHECK_OK(redlock_start(r, "x", 10000, &q, &s.lock));
        s.started = 1;
        int64_t end_ms = now_ms() + 5000;
        while (s.result.calls == 0 && now_ms() < end_ms)
            CHECK(redlock_process(r, 1000) >= 0); /* must be woken by the cancel */
        pthread_join(thread, NULL);
        CHECK_INT(1, s.result.calls);
        CHECK_ERR(REDLOCK_CANCELED, s.result.error);
        redlock_lock_free(s.lock);
    }
    redlock_close(r);
}

CASE(blocking_calls_are_independent,
     "A thread's blocked wait does not delay another thread's call.")
{
    struct cluster c;
    for (int flags = 0; flags <= 1; flags++) {
        redlock *r = open_held(&c, (uint32_t)flags);
        pthread_t thread;
        struct shared s = {0};
        redlock_request q = {.size = sizeof q,
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = result_note,
                             .data = &s.result};
        CHECK_OK(redlock_start(r, "x", 10000, &q, &s.lock));
        CHECK_INT(0, pthread_create(&thread, NULL, cancel_soon, &s));
        for (int i = 0; i < 20; i++) {
            int64_t start_ms = now_ms();
            CHECK_OK(client_try(r, "free", 10000));
            CHECK_BETWEEN(0, 100 + SLACK_MS, now_ms() - start_ms);
        }
        s.started = 1;
        while (s.result.calls == 0)
            if (flags == 0)
                redlock_process(r, 100);
            else
                sleep_ms(1);
        pthread_join(thread, NULL);
        redlock_lock_free(s.lock);
        redlock_close(r);
    }
}
