/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "waiter.h"

#include <stdlib.h>

enum { NODES = 3, TTL_MS = 20000, LIMIT_MS = 20000 };

struct one {
    redlock_lock *lock;
    int number;
};

/* Reads one event, if there is one within limit_ms. Each that is served gives the lock back. */
static void serve(redlock *r, int64_t limit_ms, struct local_queue *found, int *last)
{
    const redlock_event *event = next_event(r, limit_ms);
    struct one *one;
    if (!event)
        return;
    CHECK_OK(event->error);
    one = event->data;
    if (event->type == REDLOCK_EVENT_RELEASED) {
        redlock_lock_free(event->lock);
        one->lock = NULL;
        return;
    }
    found->disorders += one->number < *last;
    *last = one->number;
    found->served++;
    CHECK_OK(redlock_start_release(event->lock));
}

static void note_longest(const struct cluster *c, struct local_queue *found)
{
    for (int i = 0; i < NODES; i++) {
        int length = (int)queue_length(&c->node[i], "x");
        found->longest = length > found->longest ? length : found->longest;
    }
}

struct local_queue local_queue_run(int waiters)
{
    struct cluster c;
    int last = -1;
    struct local_queue found = {0};
    struct one *all = calloc((size_t)waiters, sizeof *all);
    int64_t soon_ms;
    redlock *other, *r;
    redlock_lock *held;
    CHECK(all != NULL);
    other = client_start(&c, NODES, 0);
    held = client_lock(other, "x", TTL_MS);
    r = client_open_warm(&c, 0);
    for (int i = 0; i < waiters; i++) {
        redlock_request q;
        all[i].number = i;
        q = (redlock_request)REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_FOREVER, .data = &all[i]);
        CHECK_OK(redlock_start_acquire(r, "x", TTL_MS, &q, &all[i].lock));
    }
    /* Long enough for each of them to have shown up, if they did. */
    soon_ms = now_ms() + 300;
    for (int64_t end_ms = now_ms() + GIVE_UP_MS;
         now_ms() < soon_ms || (found.longest == 0 && now_ms() < end_ms);) {
        serve(r, 5, &found, &last);
        note_longest(&c, &found);
    }
    CHECK(found.longest > 0 && found.served == 0);
    client_unlock(held);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; found.served < waiters && now_ms() < end_ms;)
        serve(r, 20, &found, &last);
    client_close(r);
    client_close(other);
    for (int i = 0; i < waiters; i++)
        redlock_lock_free(all[i].lock);
    free(all);
    return found;
}
