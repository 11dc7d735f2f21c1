/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a lock: as long as asked, never longer, never granted late; and why it failed. */
#include "fixture.h"
#include "proxy.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void hold_elsewhere(const struct cluster *c)
{
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
}

CASE_ON(short_wait, "A wait shorter than one attempt ends at its deadline.",
        .node_timeout_ms = FAR_MS)
{
    int64_t start_ms;
    cluster_each(c, 0, 3, server_freeze);
    start_ms = now_ms();
    /* short: no node answers */
    CHECK_ERR(REDLOCK_NOQUORUM, CLIENT_TRY(r, "x", LONG_TTL_MS, .wait_ms = 10));
    CHECK_BETWEEN(10, SOON_MS, now_ms() - start_ms);
    cluster_each(c, 0, 3, server_thaw); /* the close waits for no node */
}

/* A quorum of grants arrives after the wait has ended: they must be given back. */
CASE_NODES(never_granted_late, "Grants that arrive after the end of the wait do not count.")
{
    struct proxy p[3];
    int64_t start_ms;
    proxies_start(p, c, 3);
    r = client_open_hasty(c, 0, FAR_MS);
    client_warm(r);
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 1;
    start_ms = now_ms();
    /* short: no answer arrives */
    CHECK_ERR(REDLOCK_NOQUORUM, CLIENT_TRY(r, "x", LONG_TTL_MS, .wait_ms = 100));
    CHECK_BETWEEN(100, SOON_MS, now_ms() - start_ms);
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 0;
    CHECK(cluster_await_empty(c)); /* and rolled back */
}

CASE_NODES(wins_when_expired, "A waiter gets the lock when the holder's has expired.")
{
    redlock *holder = client_open(c, 0);
    redlock *waiter = client_open(c, REDLOCK_THREAD);
    redlock_lock *lock;
    client_warm(waiter);
    lock = client_lock(holder, "x", 2000);
    CLIENT_LOCK(waiter, "x", 10000, .wait_ms = REDLOCK_WAIT_FOREVER);
    CHECK_INT(0, redlock_remaining_ms(lock)); /* never two holders */
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

CASE_NODES(waiting_is_cheap,
           "A waiter sleeps in the queue: it neither polls nor is forgotten there.")
{
    enum { FEW = 50 }; /* a poll every millisecond would be thousands */
    redlock_options o = client_options(c);
    o.retry_min_ms = 1;
    o.retry_max_ms = 1; /* no matter: this is no retry */
    r = client_open_with(&o);
    client_warm(r);
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
    server_forget_commands(&c->node[0]);
    CHECK_ERR(REDLOCK_TIMEOUT, CLIENT_TRY(r, "x", 10000, .wait_ms = 2500));
    /*
     * A try, a ticket, a place, a heartbeat every second, a departure; some of them twice where
     * a node is late. The try, the place, the look after subscribing and two heartbeats set the
     * key.
     */
    CHECK_BETWEEN(1, FEW, calls(&c->node[0], "set"));
    CHECK_BETWEEN(3, FEW, calls(&c->node[0], "evalsha") + calls(&c->node[0], "eval"));
}

/* Where too few nodes answer there is no queue to wait in. */
CASE_NODES(retries_are_bounded,
           "Without a majority a waiter neither sleeps too long nor hammers.")
{
    r = CLIENT_OPEN(c, .retry_min_ms = 10, .retry_max_ms = 100);
    client_warm(r);
    server_kill(&c->node[1]);
    server_kill(&c->node[2]);
    server_forget_commands(&c->node[0]);
    CHECK_ERR(REDLOCK_NOQUORUM, CLIENT_TRY(r, "x", 10000, .wait_ms = 2000));
    CHECK_BETWEEN(3, 120, calls(&c->node[0], "set")); /* 20 or more on a calm machine */
}

CASE_ON(outcomes_are_distinct, "BUSY, TIMEOUT and NOQUORUM differ in code and in words.")
{
    char busy[512], timeout[512];
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 2000);
    hold_elsewhere(c);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    snprintf(busy, sizeof busy, "%s", redlock_detail());
    CHECK_ERR(REDLOCK_TIMEOUT, client_try_as(r, "x", 10000, q));
    snprintf(timeout, sizeof timeout, "%s", redlock_detail());
    server_kill(&c->node[0]);
    server_kill(&c->node[1]);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, NULL)); /* both are known to be gone */
    CHECK_ERR(REDLOCK_NOQUORUM, client_try_as(r, "x", 10000, q));
    CHECK(strcmp(busy, timeout) != 0);
    CHECK(strcmp(busy, redlock_detail()) != 0 && strcmp(timeout, redlock_detail()) != 0);
}

CASE_ON(busy_with_a_dead_minority,
        "A lock held by another on the living majority is BUSY, not NOQUORUM.")
{
    hold_elsewhere(c);
    server_kill(&c->node[2]);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
}

static void *cancel_soon(void *data)
{
    sleep_ms(30);
    CHECK_OK(redlock_cancel(data));
    return NULL;
}

CASE_ON(cancel_from_another_thread,
        "Another thread can cancel a wait, whichever thread drives the client.",
        .also = {REDLOCK_THREAD})
{
    hold_elsewhere(c);
    for (int i = 0; i < 10; i++) {
        redlock_lock *lock = NULL;
        pthread_t thread;
        lock = CLIENT_START(r, "x", 10000, .wait_ms = REDLOCK_WAIT_FOREVER);
        CHECK_INT(0, pthread_create(&thread, NULL, cancel_soon, lock));
        for (int64_t end_ms = now_ms() + 60; now_ms() < end_ms; sleep_ms(1))
            NO_EVENT(r);
        pthread_join(thread, NULL);
        NO_EVENT(r);
        CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
        redlock_lock_free(lock);
    }
    cluster_del(c, 0, 3, "redlock:x");
    CHECK(cluster_await_empty(c));
}

CASE_ON(blocking_calls_are_independent, "A wait under way does not delay a blocking call.",
        .also = {REDLOCK_THREAD})
{
    redlock_lock *lock = NULL;
    hold_elsewhere(c);
    lock = CLIENT_START(r, "x", 10000, .wait_ms = REDLOCK_WAIT_FOREVER);
    for (int i = 0; i < 20; i++)
        CHECK_OK(client_try(r, "free", 10000)); /* returns while the other waits on */
    NO_EVENT(r);
    CHECK_INT(REDLOCK_STATE_WAITING, redlock_state(lock));
}
