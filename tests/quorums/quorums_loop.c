/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums in an event loop: one descriptor, one redlock_next(), timers of all of
 * them.
 */
#include "fixture.h"
#include "fleet.h"

#include <poll.h>
#include <stdio.h>

static redlock_lock *start(redlock *r, const char *name, int64_t ttl_ms, uint32_t flags,
                           struct tally *tally)
{
    redlock_lock *lock = CLIENT_START(r, name, ttl_ms, .flags = flags, .data = tally);
    return lock;
}

enum { IN_FLIGHT = 100 };

CASE_ON(one_descriptor_for_all,
        "A hundred locks of all quorums are taken and released through one descriptor.",
        .quorums = 3, .also = {REDLOCK_THREAD})
{
    struct tally tally = {0};
    redlock_lock *lock[IN_FLIGHT];
    struct pollfd p;
    for (int i = 0; i < IN_FLIGHT; i++) {
        char name[32];
        snprintf(name, sizeof name, "name-%d", i);
        lock[i] = start(r, name, 20000, 0, &tally);
    }
    DRAIN_UNTIL(r, &tally, ACQUIRED, IN_FLIGHT);
    for (int i = 0; i < IN_FLIGHT; i++) {
        CHECK(redlock_remaining_ms(lock[i]) > 0);
        CHECK_OK(redlock_start_release(lock[i]));
    }
    DRAIN_UNTIL(r, &tally, RELEASED, IN_FLIGHT);
    for (int i = 0; i < IN_FLIGHT; i++) {
        CHECK_INT(REDLOCK_STATE_RELEASED, redlock_state(lock[i]));
        redlock_lock_free(lock[i]);
    }
    CHECK_INT(IN_FLIGHT, tally.count[REDLOCK_EVENT_ACQUIRED]);
    for (size_t q = 0; q < 3; q++)
        CHECK(cluster_await_empty(&fleet->cluster[q]));
    /* Nothing left to do: the descriptor is silent, and a wait for it takes its time. */
    p = (struct pollfd){.fd = redlock_fd(r), .events = POLLIN};
    for (int quiet = 0, tries = 0; quiet < 3; tries++) {
        CHECK(tries < 100);
        quiet = poll(&p, 1, 30) == 0 ? quiet + 1 : 0;
        NO_EVENT(r);
    }
}

CASE_ON(renewals_and_losses_in_a_loop,
        "One event loop renews locks of all quorums and reports the loss in one of them.",
        .quorums = 3, .nodes = 1)
{
    struct tally tally = {0};
    redlock_lock *lock[3];
    enum { TTL_MS = RENEWED_TTL_MS };
    for (size_t i = 0; i < 3; i++)
        lock[i] = start(r, fleet_name(fleet, i, 0), TTL_MS, REDLOCK_RENEW, &tally);
    DRAIN_UNTIL(r, &tally, ACQUIRED, 3);
    /* Timers only: longer than a life nothing but renewals keeps them. */
    CHECK(poll_event(r, 3 * TTL_MS / 2) == NULL);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock[i]));
    server_freeze(&fleet->cluster[1].node[0]);
    DRAIN_UNTIL(r, &tally, LOST, 1);
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock[1]));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock[0]));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock[2]));
    server_thaw(&fleet->cluster[1].node[0]);
}

/* A quarter of the TTL is less than the node timeout. */
CASE_ON(a_silent_quorum_delays_nobody,
        "A hung quorum delays no lock of the others in one event loop.", .quorums = 2,
        .node_timeout_ms = FAR_MS)
{
    struct tally silent = {0}, alive = {0};
    redlock_lock *hung, *lock[20];
    cluster_each(&fleet->cluster[1], 0, 3, server_freeze);
    hung = start(r, fleet_name(fleet, 1, 0), 20000, 0, &silent);
    for (int i = 0; i < 20; i++)
        lock[i] = start(r, fleet_name(fleet, 0, i), 20000, 0, &alive);
    DRAIN_UNTIL(r, &alive, ACQUIRED, 20);
    CHECK_INT(0, silent.count[REDLOCK_EVENT_ACQUIRED]);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock[i]));
        redlock_lock_free(lock[i]);
    }
    DRAIN_UNTIL(r, &silent, ACQUIRED, 1); /* its own time is the nodes' deadline */
    CHECK_ERR(REDLOCK_NOQUORUM, silent.error);
    redlock_lock_free(hung);
    cluster_each(&fleet->cluster[1], 0, 3, server_thaw);
}

CASE_ON(next_waits, "redlock_next() waits for an event of any quorum, without a limit.",
        .quorums = 2, .nodes = 1)
{
    for (size_t i = 0; i < 2; i++) {
        const redlock_event *event = NULL;
        redlock_lock *lock = start(r, fleet_name(fleet, i, 0), 20000, 0, NULL);
        CHECK_INT(1, redlock_next(r, &event, -1));
        CHECK(event->lock == lock && event->type == REDLOCK_EVENT_ACQUIRED);
        CHECK_OK(event->error);
        redlock_lock_free(lock);
    }
}

CASE_ON(fair_merge, "A quorum that has many events does not hold up those of another.",
        .quorums = 2, .nodes = 1, .flags = REDLOCK_THREAD)
{
    enum { LATER = 50 };
    struct tally many = {0}, one = {0};
    for (int i = 0; i < 50; i++)
        start(r, fleet_name(fleet, 0, i), 20000, 0, &many);
    start(r, fleet_name(fleet, 1, 0), 20000, 0, &one);
    /* All are granted, and none is read. */
    for (size_t i = 0; i < 2; i++)
        client_unlock(client_lock(r, fleet_name(fleet, i, LATER), 20000));
    drain_within(r, GIVE_UP_MS);
    drain_within(r, GIVE_UP_MS);
    CHECK_INT(1, one.count[REDLOCK_EVENT_ACQUIRED]); /* in turns */
    DRAIN_UNTIL(r, &many, ACQUIRED, 50);
}
