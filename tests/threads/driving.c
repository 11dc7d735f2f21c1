/* SPDX-License-Identifier: BSD-2-Clause */
/* Which thread drives a client without an I/O thread, when several could. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WAIT_MS = 5000, TURN_MS = 100 };

struct waiter {
    redlock *client;
    pthread_t thread;
    _Atomic int error; /* 1: still waiting */
};

static void *wait_for_it(void *data)
{
    struct waiter *w = data;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = WAIT_MS);
    redlock_lock *lock = NULL;

    w->error = redlock_acquire(w->client, "occupied", LONG_TTL_MS, &q, &lock);
    redlock_lock_free(lock);
    return NULL;
}

/* A client that a thread drives, because it is blocked in a call that will take its time. */
static void begin(struct cluster *c, struct waiter *w)
{
    cluster_start(c, 3);
    cluster_set(c, 0, 3, "redlock:occupied", "somebody", 60000);
    *w = (struct waiter){.client = client_open_warm(c, 0), .error = 1};
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c->node[i]);
    CHECK_INT(0, pthread_create(&w->thread, NULL, wait_for_it, w));
    /* The waiter has asked, so it is driving. */
    while (server_commands(&c->node[2])[0] == '\0')
        sleep_ms(1);
}

static void end(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    CHECK_INT(REDLOCK_TIMEOUT, w->error);
    client_close(w->client);
}

CASE(next_beside_a_blocked_call,
     "redlock_next() keeps its timeout while a blocked caller drives.")
{
    struct cluster c;
    struct waiter w;
    const redlock_event *event;
    int64_t start_ms;

    begin(&c, &w);
    start_ms = now_ms();
    CHECK_INT(0, redlock_next(w.client, &event, TURN_MS));
    CHECK(now_ms() - start_ms >= TURN_MS - 1);
    CHECK_INT(1, w.error); /* it did not wait for the driving caller */
    CHECK_INT(0, redlock_next(w.client, &event, 0));
    end(&w);
}

CASE(the_driver_serves_all, "A driving caller also carries out what other threads started.")
{
    struct cluster c;
    struct waiter w;
    const redlock_event *event = NULL;
    redlock_lock *lock = NULL;

    begin(&c, &w);
    CHECK_OK(redlock_start_acquire(w.client, "free", LONG_TTL_MS, NULL, &lock));
    while (redlock_next(w.client, &event, -1) == 0)
        ;
    CHECK(event->lock == lock);
    CHECK_OK(event->error);
    CHECK_INT(1, w.error); /* it still drives */
    CHECK_INT(3, cluster_count_value(&c, "redlock:free", redlock_value(lock)));
    client_unlock(lock);
    end(&w);
}
