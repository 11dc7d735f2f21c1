/* SPDX-License-Identifier: BSD-2-Clause */
#include "queue_local_load.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "waiter.h"

#include <stdlib.h>

enum { NODES = 3, TTL_MS = 20000, LIMIT_MS = 20000 };

struct line {
    int served, disorders, last;
};

struct one {
    struct line *line;
    redlock_lock *lock;
    int number;
};

static void released(redlock_lock *lock, int error, void *data)
{
    (void)data;
    CHECK_OK(error);
    redlock_lock_free(lock);
}

static void granted(redlock_lock *lock, int error, void *data)
{
    struct one *one = data;
    struct line *line = one->line;
    CHECK_OK(error);
    line->disorders += one->number < line->last;
    line->last = one->number;
    line->served++;
    CHECK_OK(redlock_start_release(lock, released, NULL));
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
    struct line line = {.last = -1};
    struct local_queue found = {0};
    struct one *all = calloc((size_t)waiters, sizeof *all);
    CHECK(all != NULL);
    redlock *other = client_start(&c, NODES, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    redlock *r = client_open_warm(&c, 0);
    for (int i = 0; i < waiters; i++) {
        all[i] = (struct one){.line = &line, .number = i};
        redlock_request q = {.size = sizeof q,
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = granted,
                             .data = &all[i]};
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &all[i].lock));
    }
    /* Long enough for each of them to have shown up, if they did. */
    int64_t soon_ms = now_ms() + 300;
    for (int64_t end_ms = now_ms() + LIMIT_MS;
         now_ms() < soon_ms || (found.longest == 0 && now_ms() < end_ms);) {
        CHECK(redlock_process(r, 5) >= 0);
        note_longest(&c, &found);
    }
    CHECK(found.longest > 0 && line.served == 0);
    client_unlock(held);
    for (int64_t end_ms = now_ms() + LIMIT_MS; line.served < waiters && now_ms() < end_ms;)
        CHECK(redlock_process(r, 20) >= 0);
    found.served = line.served;
    found.disorders = line.disorders;
    redlock_close(r);
    redlock_close(other);
    free(all);
    return found;
}
