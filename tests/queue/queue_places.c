/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of waiters, as redlock_request.queued tells them. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "waiter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, TTL_MS = 20000, MINE = 3, MANY = 100, SERVED = 30 };

struct told {
    _Atomic int place; /* the last; 0: none */
    _Atomic int count;
    _Atomic int done;  /* 1: done has run */
    _Atomic int after; /* told after done */
    _Atomic int error;
};

static void on_queued(redlock_lock *lock, int place, void *data)
{
    struct told *t = data;
    (void)lock;
    t->after += t->done;
    t->place = place;
    t->count++;
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct told *t = data;
    (void)lock;
    t->error = error;
    t->done = 1;
}

static redlock_request waiting(struct told *t)
{
    return (redlock_request){.size = sizeof(redlock_request),
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = on_done,
                             .queued = on_queued,
                             .data = t};
}

struct wanted {
    struct told *t;
    int place;
};

static bool is_told(void *data)
{
    const struct wanted *w = data;
    return w->t->place == w->place;
}

static void await_told(struct told *t, int place)
{
    struct wanted w = {t, place};
    /* A waiter asks once a second, those behind it are told once a second. */
    if (!wait_until(is_told, &w, 4500 + SLACK_MS))
        CHECK_INT(place, t->place);
}

static bool is_done(void *data)
{
    return ((struct told *)data)->done;
}

CASE(told, "Waiters are told their places, and again when a waiter ahead is gone.")
{
    struct cluster c;
    struct told t[MINE] = {0}, ahead = {0};
    redlock_lock *mine[MINE], *first;
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, REDLOCK_THREAD);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    redlock_request q = waiting(&ahead);
    CHECK_OK(redlock_start(other, "x", TTL_MS, &q, &first));
    CHECK(queue_await(&c, "x", 1, 5000));
    await_told(&ahead, 1);
    for (int i = 0; i < MINE; i++) {
        q = waiting(&t[i]);
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &mine[i]));
    }
    for (int i = 0; i < MINE; i++)
        await_told(&t[i], i + 2);
    for (int i = 0; i < MINE; i++)
        CHECK_INT(i + 2, redlock_position(mine[i]));
    redlock_lock_free(first);
    for (int i = 0; i < MINE; i++)
        await_told(&t[i], i + 1);
    CHECK_INT(1, ahead.count); /* its place never changed */
    /* One in the middle goes: the last moves up. */
    redlock_lock_free(mine[1]);
    await_told(&t[2], 2);
    CHECK_INT(1, t[0].place);
    client_unlock(held);
    CHECK(wait_until(is_done, &t[0], 5000));
    CHECK_OK(redlock_release(mine[0]));
    CHECK(wait_until(is_done, &t[2], 5000));
    CHECK_OK(t[2].error);
    for (int i = 0; i < MINE; i++)
        CHECK_INT(0, t[i].after);
    redlock_lock_free(mine[0]);
    redlock_lock_free(mine[2]);
    redlock_close(r);
    redlock_close(other);
}

/* ---- ending the wait from inside ---- */

static _Atomic int freed;

static void free_it(redlock_lock *lock, int place, void *data)
{
    CHECK_INT(1, place);
    CHECK_OK(redlock_cancel(lock));
    redlock_lock_free(lock);
    freed++;
    ((struct told *)data)->count++;
}

static bool is_freed(void *data)
{
    (void)data;
    return freed == 1;
}

CASE(freed_inside, "A waiter can be freed while it is told its place, and leaves the queue.")
{
    struct cluster c;
    struct told t = {0};
    redlock_lock *lock;
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    redlock_request q = waiting(&t);
    q.queued = free_it;
    CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &lock));
    CHECK(wait_until(is_freed, NULL, 5000));
    CHECK(queue_await(&c, "x", 0, 5000));
    client_unlock(held);
    redlock_close(r);
    redlock_close(other);
    CHECK_INT(1, t.count);
    CHECK_INT(0, t.done);
}

/* ---- many ---- */

CASE(not_too_often, "However many waiters are served, one behind them is told once a second.")
{
    struct cluster c;
    struct told *t = calloc(MANY, sizeof *t);
    redlock_lock *mine[MANY];
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    int64_t began_ms = now_ms();
    for (int i = 0; i < MANY; i++) {
        redlock_request q = waiting(&t[i]);
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &mine[i]));
    }
    await_told(&t[MANY - 1], MANY);
    client_unlock(held);
    for (int i = 0; i < SERVED; i++) {
        CHECK(wait_until(is_done, &t[i], 5000));
        CHECK_OK(t[i].error);
        await_told(&t[i + 1], 1); /* it is at the head of the nodes' queues */
        CHECK_OK(redlock_release(mine[i]));
    }
    int64_t seconds = (now_ms() - began_ms) / 1000 + 2;
    for (int i = SERVED + 1; i < MANY; i++)
        CHECK(t[i].count >= 1 && t[i].count <= seconds);
    for (int i = 0; i < MANY; i++)
        redlock_lock_free(mine[i]);
    redlock_close(r);
    redlock_close(other);
    free(t);
}

CASE(refused, "A blocking call and an adoption take no function for places.")
{
    struct cluster c;
    struct told t = {0};
    redlock_lock *lock = NULL;
    redlock *r = client_start(&c, NODES, 0);
    redlock_request q = waiting(&t);
    q.done = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", TTL_MS, &q, &lock));
    CHECK(strstr(redlock_detail(), "queued"));
    q.wait_ms = 0;
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt_as(r, "x", "value", &q, &lock));
    CHECK(strstr(redlock_detail(), "queued"));
    CHECK(!lock);
    redlock_close(r);
}
