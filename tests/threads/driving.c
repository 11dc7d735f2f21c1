/* SPDX-License-Identifier: BSD-2-Clause */
/* Which thread drives a client without an I/O thread, when several could. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WAIT_MS = 600, PROCESS_MS = 100 };

struct waiter {
    redlock *client;
    pthread_t thread;
    _Atomic int error; /* 1: still waiting */
};

static void *wait_for_it(void *data)
{
    struct waiter *w = data;
    redlock_request q = {.size = sizeof q, .wait_ms = WAIT_MS};
    redlock_lock *lock = NULL;

    w->error = redlock_acquire(w->client, "occupied", 5000, &q, &lock);
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
    redlock_close(w->client);
}

CASE(processing_beside_a_blocked_call,
     "redlock_process() keeps its timeout while a blocked caller drives.")
{
    struct cluster c;
    struct waiter w;
    int64_t start_ms;

    begin(&c, &w);
    start_ms = now_ms();
    CHECK_INT(0, redlock_process(w.client, PROCESS_MS));
    CHECK_BETWEEN(PROCESS_MS - 1, PROCESS_MS + SLACK_MS, now_ms() - start_ms);
    CHECK_INT(0, redlock_process(w.client, 0));
    end(&w);
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    CHECK_INT(REDLOCK_OK, error);
    (*(_Atomic int *)data)++;
}

CASE(the_driver_serves_all, "A driving caller also carries out what other threads started.")
{
    struct cluster c;
    struct waiter w;
    _Atomic int done = 0;
    redlock_request q = {.size = sizeof q, .done = on_done, .data = &done};
    redlock_lock *lock = NULL;

    begin(&c, &w);
    CHECK_OK(redlock_start(w.client, "free", 5000, &q, &lock));
    /* Without a limit: it returns when the driving caller has, and one turn was made. */
    while (!done)
        CHECK(redlock_process(w.client, -1) >= 0);
    CHECK_INT(1, done);
    CHECK_INT(3, cluster_count_value(&c, "redlock:free", redlock_value(lock)));
    client_unlock(lock);
    end(&w);
}
