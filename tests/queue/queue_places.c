/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of waiters, as events QUEUED bring them. */
#include "fixture.h"
#include "waiter.h"

#include <stdlib.h>

enum { NODES = 3, TTL_MS = LONG_TTL_MS, MINE = 3, MANY = 100, SERVED = 30 };

static redlock_lock *start(redlock *r, struct tally *tally)
{
    redlock_lock *lock = CLIENT_START(r, "x", TTL_MS, .flags = REDLOCK_PLACES,
                                      .wait_ms = REDLOCK_WAIT_FOREVER, .data = tally);
    return lock;
}

static void await_place(redlock *r, const struct tally *tally, int place)
{
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; tally->place != place && now_ms() < end_ms;)
        drain_within(r, 100);
    CHECK_INT(place, tally->place);
}

CASE_ON(places, "Waiters get their places, and again when a waiter ahead is gone.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .clients = 2)
{
    struct tally t[MINE] = {0}, ahead = {0};
    redlock_lock *mine[MINE];
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    redlock_lock *first = start(other, &ahead);
    CHECK(queue_await(c, "x", 1));
    await_place(other, &ahead, 1);
    for (int i = 0; i < MINE; i++)
        mine[i] = start(r, &t[i]);
    for (int i = 0; i < MINE; i++)
        await_place(r, &t[i], i + 2);
    for (int i = 0; i < MINE; i++)
        CHECK_INT(i + 2, redlock_position(mine[i]));
    redlock_lock_free(first);
    for (int i = 0; i < MINE; i++)
        await_place(r, &t[i], i + 1);
    drain(other);
    CHECK_INT(1, ahead.count[REDLOCK_EVENT_QUEUED]); /* its place never changed */
    /* One in the middle goes: the last moves up. */
    redlock_lock_free(mine[1]);
    await_place(r, &t[2], 2);
    CHECK_INT(1, t[0].place);
    client_unlock(held);
    for (int i = 0; i < MINE; i += 2) {
        int places;
        DRAIN_UNTIL(r, &t[i], ACQUIRED, 1);
        CHECK_OK(t[i].error);
        places = t[i].count[REDLOCK_EVENT_QUEUED];
        client_unlock(mine[i]);
        drain(r);
        CHECK_INT(places, t[i].count[REDLOCK_EVENT_QUEUED]);
    }
}

CASE_ON(only_who_asks, "A waiter that did not request its place gets nothing but its outcome.",
        .nodes = NODES, .flags = REDLOCK_THREAD)
{
    struct tally asks = {0}, plain = {0};
    redlock_lock *held, *lock[2] = {NULL};
    redlock_request q;
    other = client_open_warm(c, 0);
    held = client_lock(other, "x", TTL_MS);
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_FOREVER, .data = &plain);
    CHECK_OK(redlock_start_acquire(r, "x", TTL_MS, &q, &lock[0]));
    CHECK(queue_await(c, "x", 1));
    lock[1] = start(r, &asks);
    await_place(r, &asks, 2);
    CHECK_INT(0, plain.count[REDLOCK_EVENT_QUEUED]);
    CHECK_INT(1, redlock_position(lock[0])); /* it can ask */
    client_unlock(held);
    DRAIN_UNTIL(r, &plain, ACQUIRED, 1);
    CHECK_INT(0, plain.count[REDLOCK_EVENT_QUEUED]);
}

CASE_ON(freed_at_its_place, "A waiter that is freed when it gets its place leaves the queue.",
        .nodes = NODES, .flags = REDLOCK_THREAD)
{
    redlock_lock *held, *lock;
    other = client_open_warm(c, 0);
    held = client_lock(other, "x", TTL_MS);
    lock = start(r, NULL);
    CHECK_INT(1, EXPECT(r, QUEUED, REDLOCK_OK, lock)->place);
    CHECK_OK(redlock_cancel(lock));
    redlock_lock_free(lock);
    CHECK(queue_await(c, "x", 0));
    client_unlock(held);
    CHECK(next_event(r, 0) == NULL);
}

CASE(not_too_often,
     "However many waiters are served, one behind them gets its place once a second.")
{
    struct cluster c;
    struct tally *t = calloc(MANY, sizeof *t);
    redlock_lock *mine[MANY];
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    int64_t began_ms = now_ms();
    int64_t seconds;
    for (int i = 0; i < MANY; i++)
        mine[i] = start(r, &t[i]);
    await_place(r, &t[MANY - 1], MANY);
    client_unlock(held);
    for (int i = 0; i < SERVED; i++) {
        DRAIN_UNTIL(r, &t[i], ACQUIRED, 1);
        CHECK_OK(t[i].error);
        await_place(r, &t[i + 1], 1); /* it is at the head of the nodes' queues */
        CHECK_OK(redlock_release(mine[i]));
    }
    seconds = (now_ms() - began_ms) / 1000 + 2;
    for (int i = SERVED + 1; i < MANY; i++)
        CHECK_BETWEEN(1, seconds, t[i].count[REDLOCK_EVENT_QUEUED]);
    for (int i = 0; i < MANY; i++)
        redlock_lock_free(mine[i]);
    client_close(r);
    client_close(other);
    free(t);
}

CASE_ON(latest_place_waits,
        "Of the places of a waiter that are not read, the latest one waits.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .clients = 2)
{
    struct tally ahead = {0};
    redlock_lock *first, *lock;
    client_lock(other, "x", TTL_MS);
    first = start(other, &ahead);
    await_place(other, &ahead, 1);
    lock = start(r, NULL);
    for (int place = 2; place > 0; place--) {
        AWAIT(redlock_position(lock) == place);
        if (place == 2)
            redlock_lock_free(first);
    }
    /* A place is reported when its round is over, a moment after it is known. */
    if (EXPECT(r, QUEUED, REDLOCK_OK, lock)->place == 2)
        CHECK_INT(1, EXPECT(r, QUEUED, REDLOCK_OK, lock)->place);
    CHECK(next_event(r, 0) == NULL);
}
