/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a call takes: a wait ends at its deadline wherever the waiter stands, an attempt at
 * the node timeout, and what needs no wait takes none.
 */
#include "crowd.h"
#include "fixture.h"
#include "lab/stats/series.h"
#include "pulse.h"
#include "waiter.h"

enum {
    NODES = 3,
    TTL_MS = 20000,
    EXACT_MS = 6, /* the best of READINGS is as late as this, at most */
    READINGS = 3,
    EXCUSES_MAX = 50,
};

static redlock *open_held(struct cluster *c, uint32_t flags)
{
    redlock *r = client_start(c, NODES, flags);
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    return r;
}

CASE_EACH(wait_is_exact, "A wait of 300 ms on a held lock is TIMEOUT after 300 to 320 ms.", 0,
          REDLOCK_THREAD)
{
    struct cluster c;
    redlock *r = open_held(&c, flags);
    int64_t took_ms[5];
    int reported = 0;
    for (int i = 0; i < 5; i++) {
        redlock_request q = REDLOCK_REQUEST(.wait_ms = 300);
        redlock_lock *lock = NULL;
        int64_t start_ns = now_ns();
        int64_t took_ns;
        CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "x", 10000, &q, &lock));
        took_ns = now_ns() - start_ns;
        took_ms[i] = took_ns / RL_NS_PER_MS;
        CHECK_BETWEEN(300, 1500 + pulse_late_ms(), took_ms[i]);
        CHECK(lock == NULL);
        reported += report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN) >= 1;
    }
    CHECK_BETWEEN(3, 5, reported); /* not where the end cut an attempt off */
    /* A starved machine only ever adds: what the library does itself shows in the best. */
    quantile_of(took_ms, 5, 0.5); /* sorts */
    CHECK_BETWEEN(300, 320 + pulse_late_ms(), took_ms[0]);
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
    quantile_of(took_ms, 9, 0.5); /* sorts: a busy machine only ever adds */
    CHECK_BETWEEN(0, 10 + pulse_late_ms(), took_ms[0]);
}

CASE_ON(node_timeout_is_exact, "An attempt without a majority ends at the node timeout.",
        .nodes = NODES, .node_timeout_ms = 300)
{
    int64_t took_ms[READINGS];
    cluster_each(c, 0, 2, server_freeze);
    for (int i = 0; i < READINGS; i++) {
        int64_t start_ms = now_ms();
        CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", TTL_MS));
        took_ms[i] = now_ms() - start_ms;
    }
    quantile_of(took_ms, READINGS, 0.5); /* sorts */
    CHECK_BETWEEN(300, 320 + pulse_late_ms(), took_ms[0]);
}

static redlock_lock *start(redlock *r)
{
    redlock_lock *lock = CLIENT_START(r, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    return lock;
}

static void keep_deadlines(redlock *r, int expected)
{
    static const int lengths_ms[] = {7, 30, 150};
    int excused = 0;
    for (size_t k = 0; k < sizeof lengths_ms / sizeof lengths_ms[0]; k++) {
        int64_t late_us[READINGS];
        for (int i = 0; i < READINGS; i++) {
            redlock_request q = REDLOCK_REQUEST(.wait_ms = lengths_ms[k]);
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
        quantile_of(late_us, READINGS, 0.5); /* sorts */
        CHECK_BETWEEN(0, 1000 * (EXACT_MS + pulse_late_ms()), late_us[0]);
    }
}

/* In the queue itself, or parked behind three of the same client. */
static void wait_exactly(struct cluster *c, enum trouble trouble, bool behind_others)
{
    redlock_lock *others[3];
    redlock *r;
    struct cluster rest;
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    trouble_begin(c, trouble);
    r = client_open_hasty(c, REDLOCK_THREAD, STEADY_MS);
    client_warm_nodes(r, NODES - (trouble != ALL_UP));
    for (int i = 0; i < 3 && behind_others; i++)
        others[i] = start(r);
    keep_deadlines(r, REDLOCK_TIMEOUT);
    for (int i = 0; i < 3 && behind_others; i++)
        redlock_lock_free(others[i]);
    client_close(r);
    rest = trouble_rest(c, trouble);
    CHECK(queue_await_only_the_lock(&rest));
}

CASE_OF_ON(exact, "A wait in the queue ends at its deadline, not before and hardly after.",
           wait_exactly(c, ALL_UP, false), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(exact_node_killed, "With one node down a wait in the queue ends at its deadline.",
           wait_exactly(c, ONE_KILLED, false), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(exact_node_hung, "With one node hung a wait in the queue ends at its deadline.",
           wait_exactly(c, ONE_HUNG, false), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(exact_behind_others,
           "A wait behind other waiters of its client ends at its deadline.",
           wait_exactly(c, ALL_UP, true), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(exact_behind_others_node_hung,
           "With one node hung a wait behind others of its client ends at its deadline.",
           wait_exactly(c, ONE_HUNG, true), .nodes = NODES, .clients = NO_CLIENT);

CASE_NODES(exact_without_majority,
           "A wait without a majority ends at its deadline with NOQUORUM.", .nodes = NODES)
{
    redlock_lock *second;
    cluster_set(c, 0, NODES, "redlock:x", "another", 60000);
    r = client_open_hasty(c, REDLOCK_THREAD, DEFAULT_MS);
    client_warm(r);
    server_kill(&c->node[1]);
    server_kill(&c->node[2]);
    client_warm_nodes(r, 1);
    keep_deadlines(r, REDLOCK_NOQUORUM);
    second = start(r);
    sleep_ms(100); /* longer than one attempt: it knows why it waits */
    keep_deadlines(r, REDLOCK_NOQUORUM);
    redlock_lock_free(second);
    client_close(r);
    c->count = 1;
    CHECK(queue_await_only_the_lock(c));
}
