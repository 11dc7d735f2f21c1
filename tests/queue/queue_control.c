/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A waiter decides for how long it waits: its deadline is kept to a few milliseconds wherever
 * it stands, a cancel works at once in every phase, and no end of a wait leaves a place in a
 * queue.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "core/lock.h"
#include "crowd.h"
#include "proxy.h"
#include "waiter.h"

#include <pthread.h>
#include <stdio.h>

enum {
    NODES = 3,
    TTL_MS = 20000,
    EXACT_MS = CHECK_SANITIZED ? 60 : 6, /* the best of READINGS is as late as this, at most */
    READINGS = 3,
    EXCUSES_MAX = 50,
    AT_ONCE_MS = CHECK_SANITIZED ? 200 : 60,
};

struct wait {
    redlock_lock *lock;
    struct result result;
};

static void start(redlock *r, const char *name, int64_t wait_ms, struct wait *w)
{
    redlock_request q = {
        .size = sizeof q, .wait_ms = wait_ms, .done = result_note, .data = &w->result};
    *w = (struct wait){0};
    CHECK_OK(redlock_start(r, name, TTL_MS, &q, &w->lock));
}

/* No queue and no list of the living: only the lock of another. */
static bool only_the_lock(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0 && server_keys(&c->node[i]) != 1)
            return false;
    return true;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

static void keep_deadlines(redlock *r, int expected)
{
    static const int lengths_ms[] = {7, 30, 150};
    int excused = 0;
    for (size_t k = 0; k < sizeof lengths_ms / sizeof lengths_ms[0]; k++) {
        int64_t late_us[READINGS];
        for (int i = 0; i < READINGS; i++) {
            redlock_request q = {.size = sizeof q, .wait_ms = lengths_ms[k]};
            redlock_lock *lock = NULL;
            int64_t late_ms = pulse_late_ms() + pulse_stalled_ms(), start_ns = now_ns();
            int error = redlock_acquire(r, "x", TTL_MS, &q, &lock);
            late_us[i] = (now_ns() - start_ns) / 1000 - lengths_ms[k] * 1000;
            /* A machine that stood still for the whole wait let no node answer: once more. */
            if (error != expected && lock == NULL && excused < EXCUSES_MAX) {
                sleep_ms(50); /* until the pulse has noted it */
                if (pulse_late_ms() + pulse_stalled_ms() > late_ms) {
                    excused++;
                    i--;
                    continue;
                }
            }
            CHECK_ERR(expected, error);
            CHECK_BETWEEN(0, 1000 * (1000 + SLACK_MS), late_us[i]);
        }
        median(late_us, READINGS); /* sorts */
        CHECK_BETWEEN(0, 1000 * (EXACT_MS + pulse_late_ms()), late_us[0]);
    }
}

/* In the queue itself, or parked behind three of the same client. */
static void wait_exactly(enum trouble trouble, bool behind_others)
{
    struct cluster c;
    struct wait others[3];
    cluster_start(&c, NODES);
    cluster_set(&c, 0, NODES, "redlock:x", "another", 60000);
    trouble_begin(&c, trouble);
    redlock *r = client_open_hasty(&c, REDLOCK_THREAD, STEADY_MS);
    client_warm_nodes(r, NODES - (trouble != ALL_UP));
    for (int i = 0; i < 3 && behind_others; i++)
        start(r, "x", REDLOCK_WAIT_FOREVER, &others[i]);
    keep_deadlines(r, REDLOCK_TIMEOUT);
    for (int i = 0; i < 3 && behind_others; i++)
        redlock_lock_free(others[i].lock);
    redlock_close(r);
    c = trouble_rest(&c, trouble);
    CHECK(wait_until(only_the_lock, &c, 2000));
}

CASE(exact, "A wait in the queue ends at its deadline, not before and hardly after.")
{
    wait_exactly(ALL_UP, false);
}

CASE(exact_node_killed, "With one node down a wait in the queue ends at its deadline.")
{
    wait_exactly(ONE_KILLED, false);
}

CASE(exact_node_hung, "With one node hung a wait in the queue ends at its deadline.")
{
    wait_exactly(ONE_HUNG, false);
}

CASE(exact_behind_others, "A wait behind other waiters of its client ends at its deadline.")
{
    wait_exactly(ALL_UP, true);
}

CASE(exact_behind_others_node_hung,
     "With one node hung a wait behind others of its client ends at its deadline.")
{
    wait_exactly(ONE_HUNG, true);
}

CASE(exact_without_majority, "A wait without a majority ends at its deadline with NOQUORUM.")
{
    struct cluster c;
    struct wait other;
    cluster_start(&c, NODES);
    cluster_set(&c, 0, NODES, "redlock:x", "another", 60000);
    redlock *r = client_open_hasty(&c, REDLOCK_THREAD, DEFAULT_MS);
    client_warm(r);
    server_kill(&c.node[1]);
    server_kill(&c.node[2]);
    client_warm_nodes(r, 1);
    keep_deadlines(r, REDLOCK_NOQUORUM);
    start(r, "x", REDLOCK_WAIT_FOREVER, &other);
    sleep_ms(100); /* longer than one attempt: it knows why it waits */
    keep_deadlines(r, REDLOCK_NOQUORUM);
    redlock_lock_free(other.lock);
    redlock_close(r);
    c.count = 1;
    CHECK(wait_until(only_the_lock, &c, 2000));
}

CASE(for_ever, "A wait without a deadline lasts longer than the TTL of a queue entry.")
{
    struct cluster c;
    struct wait w;
    cluster_start(&c, NODES);
    cluster_set(&c, 0, NODES, "redlock:x", "another", 60000);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    start(r, "x", REDLOCK_WAIT_FOREVER, &w);
    CHECK(queue_await(&c, "x", 1, 2000));
    for (int64_t end_ms = now_ms() + RL_WAITER_TTL_MS + 1000; now_ms() < end_ms; sleep_ms(10)) {
        CHECK_INT(0, w.result.calls);
        for (int i = 0; i < NODES; i++)
            CHECK_INT(1, queue_length(&c.node[i], "x")); /* never out of it */
    }
    cluster_del(&c, 0, NODES, "redlock:x"); /* without a message */
    CHECK(wait_until(result_is_told, &w.result, 1000 + SLACK_MS));
    CHECK_OK(w.result.error);
    redlock_lock_free(w.lock);
    redlock_close(r);
    CHECK(cluster_await_empty(&c, 2000));
}

CASE(try_takes_no_place, "A try leaves no queue entry behind, fair or not.")
{
    struct cluster c;
    cluster_start(&c, NODES);
    cluster_set(&c, 0, NODES, "redlock:x", "another", 60000);
    redlock *r = client_open_warm(&c, 0);
    for (uint32_t flags = 0; flags <= REDLOCK_FAIR; flags += REDLOCK_FAIR) {
        redlock_request q = {.size = sizeof q, .flags = flags};
        redlock_lock *lock = NULL;
        CHECK_ERR(REDLOCK_BUSY, redlock_acquire(r, "x", TTL_MS, &q, &lock));
        for (int i = 0; i < NODES; i++)
            CHECK_INT(1, server_keys(&c.node[i]));
    }
    redlock_close(r);
}

/* ---- cancel and its relatives -------------------------------------------------------------- */

static void *cancel_it(void *data)
{
    CHECK_OK(redlock_cancel(((struct wait *)data)->lock));
    return NULL;
}

static void cancel_from_a_thread(struct wait *w)
{
    pthread_t thread;
    int64_t stalled_ms = pulse_stalled_ms(), start_ms = now_ms();
    CHECK_INT(0, pthread_create(&thread, NULL, cancel_it, w));
    CHECK(wait_until(result_is_told, &w->result, 5000));
    int64_t took_ms = now_ms() - start_ms;
    CHECK_BETWEEN(0, AT_ONCE_MS + SLACK_MS + pulse_stalled_ms() - stalled_ms, took_ms);
    pthread_join(thread, NULL);
    CHECK_ERR(REDLOCK_CANCELED, w->result.error);
    CHECK_INT(1, w->result.calls);
}

enum { MOMENTS = 16 };

/* No entry of any of the names x0, x1, ... is on any node. */
static bool none_queued(void *data)
{
    const struct cluster *c = data;
    for (int k = 0; k < MOMENTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        for (int i = 0; i < NODES; i++)
            if (queue_length(&c->node[i], name) != 0)
                return false;
    }
    return true;
}

CASE(cancel_at_any_moment, "A cancel works in every phase of a wait and leaves no queue entry.")
{
    enum { STEP_MS = 8, DELAY_MS = 30 };
    struct cluster c;
    struct proxy p[NODES];
    cluster_start(&c, NODES);
    proxies_start(p, &c, NODES);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < NODES; i++)
        p[i].switches->down_delay_ms = DELAY_MS;
    for (int k = 0; k < MOMENTS; k++) {
        struct wait w;
        char name[16], key[32];
        snprintf(name, sizeof name, "x%d", k);
        snprintf(key, sizeof key, "redlock:x%d", k);
        cluster_set(&c, 0, NODES, key, "another", 60000);
        start(r, name, REDLOCK_WAIT_FOREVER, &w);
        sleep_ms(k * STEP_MS); /* attempt, ticket, entrance, sleep: 30 ms each */
        cancel_from_a_thread(&w);
        redlock_lock_free(w.lock);
    }
    sleep_ms(4 * DELAY_MS); /* whatever was under way has arrived, unless the machine is late */
    CHECK(wait_until(none_queued, &c, 500)); /* an entry that is left lives for seconds */
    redlock_close(r);
}

/* First in the queue (0), or behind others of the same client. */
static void end_a_wait(int ahead, void (*end)(struct wait *))
{
    struct cluster c;
    struct wait w[4];
    redlock *other = client_start(&c, NODES, 0);
    redlock_lock *lock = client_lock(other, "x", TTL_MS);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 4; i++)
        start(r, "x", REDLOCK_WAIT_FOREVER, &w[i]);
    CHECK(queue_await(&c, "x", 1, 2000));
    end(&w[ahead]);
    client_unlock(lock);
    for (int i = 0; i < 4; i++) {
        if (i == ahead)
            continue;
        CHECK(wait_until(result_is_told, &w[i].result,
                         1000 + SLACK_MS)); /* the others are not held up */
        CHECK_OK(w[i].result.error);
        CHECK_OK(redlock_release(w[i].lock));
        redlock_lock_free(w[i].lock);
    }
    CHECK(cluster_await_empty(&c, 2000));
    redlock_close(r);
    redlock_close(other);
}

static void cancel_and_free(struct wait *w)
{
    cancel_from_a_thread(w);
    redlock_lock_free(w->lock);
}

static void just_free(struct wait *w)
{
    int64_t stalled_ms = pulse_stalled_ms(), start_ms = now_ms();
    redlock_lock_free(w->lock);
    int64_t took_ms = now_ms() - start_ms;
    CHECK_BETWEEN(0, AT_ONCE_MS + SLACK_MS + pulse_stalled_ms() - stalled_ms, took_ms);
    CHECK_INT(0, w->result.calls); /* no callback for a handle that is freed */
}

CASE(cancel_first, "Canceling the first waiter of a client lets its others through.")
{
    end_a_wait(0, cancel_and_free);
}

CASE(cancel_parked,
     "Canceling a waiter in the middle of its client's queue lets the others through.")
{
    end_a_wait(2, cancel_and_free);
}

CASE(cancel_last, "Canceling the last waiter of a client leaves the others served.")
{
    end_a_wait(3, cancel_and_free);
}

CASE(free_first, "Freeing the handle of a client's first waiter lets its others through.")
{
    end_a_wait(0, just_free);
}

CASE(free_parked, "Freeing the handle of a waiter behind others leaves the others served.")
{
    end_a_wait(1, just_free);
}

static void close_while_waiting(uint32_t flags)
{
    struct cluster c;
    struct wait w[5];
    cluster_start(&c, NODES);
    cluster_set(&c, 0, NODES, "redlock:x", "another", 60000);
    redlock *r = client_open_warm(&c, flags);
    for (int i = 0; i < 5; i++)
        start(r, "x", REDLOCK_WAIT_FOREVER, &w[i]);
    for (int64_t end_ms = now_ms() + 2000; queue_length(&c.node[0], "x") == 0;) {
        CHECK(now_ms() < end_ms);
        if (!(flags & REDLOCK_THREAD))
            redlock_process(r, 5);
    }
    int64_t start_ms = now_ms();
    redlock_close(r);
    CHECK_BETWEEN(0, AT_ONCE_MS + SLACK_MS, now_ms() - start_ms);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(1, w[i].result.calls);
        CHECK_ERR(REDLOCK_CANCELED, w[i].result.error);
        redlock_lock_free(w[i].lock);
    }
    CHECK(wait_until(only_the_lock, &c, 1000));
}

CASE(close_first_and_parked, "Closing a client ends all of its waits and empties the queues.")
{
    close_while_waiting(0);
}

CASE(close_with_io_thread,
     "Closing a client with an I/O thread ends all of its waits and empties the queues.")
{
    close_while_waiting(REDLOCK_THREAD);
}
