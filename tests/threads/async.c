/* SPDX-License-Identifier: BSD-2-Clause */
/* The asynchronous interface: one descriptor, events, hundreds of locks in flight. */
#include "fixture.h"

#include <poll.h>
#include <stdio.h>

enum { IN_FLIGHT = 256 };

static void poll_expect(redlock *r, int type, const redlock_lock *lock)
{
    const redlock_event *event = poll_event(r, GIVE_UP_MS);

    CHECK(event != NULL);
    CHECK_INT(type, event->type);
    CHECK_ERR(REDLOCK_OK, event->error);
    CHECK(event->lock == lock);
}

static redlock_lock *start(redlock *r, const char *name, void *data)
{
    redlock_lock *lock = NULL;

    lock = CLIENT_START(r, name, 20000, .data = data);
    CHECK(lock != NULL);
    return lock;
}

CASE_NODES(poll_loop, "A lock is taken, extended and released through one descriptor.",
           .nodes = 5, .also = {REDLOCK_THREAD})
{
    redlock_lock *lock;
    r = client_open(c, flags);
    lock = start(r, "x", NULL);
    CHECK_INT(REDLOCK_STATE_WAITING, redlock_state(lock));
    poll_expect(r, REDLOCK_EVENT_ACQUIRED, lock);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    CHECK_OK(redlock_start_extend(lock, 30000));
    poll_expect(r, REDLOCK_EVENT_EXTENDED, lock);
    CHECK(redlock_remaining_ms(lock) > 20000);
    CHECK_OK(redlock_start_release(lock));
    poll_expect(r, REDLOCK_EVENT_RELEASED, lock);
    CHECK_INT(REDLOCK_STATE_RELEASED, redlock_state(lock));
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(nothing_before_next, "Nothing is sent before redlock_next() runs.")
{
    redlock_lock *lock = start(r, "x", NULL);
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    CHECK_INT(1, poll(&p, 1, 1000)); /* but the descriptor says that there is work */
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
}

CASE_NODES(many_in_flight, "256 locks in flight on one thread each have one event per step.",
           .nodes = 5, .also = {REDLOCK_THREAD})
{
    static struct tally tally[IN_FLIGHT];
    redlock_lock *lock[IN_FLIGHT];
    char name[32];
    r = client_open(c, flags);
    for (int i = 0; i < IN_FLIGHT; i++) {
        snprintf(name, sizeof name, "n%d", i);
        lock[i] = start(r, name, &tally[i]);
    }
    for (int type = REDLOCK_EVENT_ACQUIRED; type <= REDLOCK_EVENT_RELEASED; type++)
        for (int i = 0; i < IN_FLIGHT; i++) {
            drain_until(__FILE__, __LINE__, r, &tally[i], type, 1);
            CHECK_OK(tally[i].error);
            if (type == REDLOCK_EVENT_ACQUIRED)
                CHECK_OK(redlock_start_extend(lock[i], 25000));
            else if (type == REDLOCK_EVENT_EXTENDED)
                CHECK_OK(redlock_start_release(lock[i]));
        }
    CHECK(cluster_await_empty(c));
    NO_EVENT(r);
    for (int i = 0; i < IN_FLIGHT; i++) {
        for (int type = 0; type <= REDLOCK_EVENT_WARNING; type++)
            CHECK_INT(type <= REDLOCK_EVENT_RELEASED, tally[i].count[type]);
        redlock_lock_free(lock[i]);
    }
}

/* acquire -> extend -> release -> free -> acquire the next, each where the event is read */
CASE_NODES(a_chain, "The reader of an event may start, extend, release and free locks.",
           .nodes = 5, .also = {REDLOCK_THREAD})
{
    r = client_open(c, flags);
    start(r, "chain", NULL);
    for (int steps = 1; steps <= 30; steps++) {
        const redlock_event *event = poll_event(r, GIVE_UP_MS);
        CHECK(event != NULL);
        CHECK_OK(event->error);
        switch (event->type) {
        case REDLOCK_EVENT_ACQUIRED:
            CHECK(redlock_remaining_ms(event->lock) > 0);
            CHECK_OK(redlock_start_extend(event->lock, 25000));
            break;
        case REDLOCK_EVENT_EXTENDED:
            CHECK_OK(redlock_start_release(event->lock));
            break;
        default:
            CHECK_INT(REDLOCK_EVENT_RELEASED, event->type);
            redlock_lock_free(event->lock);
            if (steps < 30)
                start(r, "chain", NULL);
            break;
        }
    }
    CHECK(cluster_await_empty(c));
}

CASE_NODES(detail_of_an_event,
           "The detail of an event is about its error, and the report of its lock.")
{
    redlock_lock *lock;
    cluster_set(c, 0, 3, "redlock:x", "another", 30000);
    r = client_open(c, 0);
    lock = start(r, "x", NULL);
    CHECK(EXPECT(r, ACQUIRED, REDLOCK_BUSY, lock)->detail[0] != '\0');
    CHECK_INT(REDLOCK_STATE_FAILED, redlock_state(lock));
    CHECK(report_votes(redlock_lock_report(lock), REDLOCK_VOTE_TAKEN) >= 2);
}
