/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums in an event loop: one descriptor, one redlock_process(), timers of all of
 * them.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"

#include <poll.h>
#include <stdio.h>

struct task {
    redlock *client;
    redlock_lock *lock;
    int *finished, *lost;
    int error;
};

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct task *t = data;
    redlock_report report = {.size = sizeof report};
    CHECK(lock != NULL);
    /* Not in any quorum: the callback's own is not the only one that would never return. */
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(t->client, &report));
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(redlock_member(t->client, 0), &report));
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(redlock_member(t->client, 1), &report));
    CHECK_ERR(REDLOCK_INVAL, redlock_process(t->client, 0));
    redlock_close(t->client); /* from a callback: no effect */
    t->error = error;
    ++*t->finished;
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct task *t = data;
    CHECK(lock == t->lock);
    CHECK_INT(REDLOCK_LOST, error);
    ++*t->lost;
}

/* As a user would write it: waits for the one descriptor, never inside the library. */
static void loop_until(redlock *r, const int *counter, int wanted, int64_t limit_ms)
{
    int64_t end_ms = now_ms() + limit_ms;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    CHECK(p.fd >= 0);
    while (*counter < wanted) {
        if (now_ms() >= end_ms)
            FAIL("only %d of %d callbacks", *counter, wanted);
        poll(&p, 1, 1000);
        CHECK(redlock_process(r, 0) >= 0);
    }
}

enum { IN_FLIGHT = 100 };

CASE(one_descriptor,
     "A hundred locks of all quorums are taken and released through one descriptor.")
{
    struct fleet f;
    struct task task[IN_FLIGHT];
    int finished = 0;
    fleet_start(&f, 3, 3);
    redlock *r = fleet_open(&f, 0);
    for (int i = 0; i < IN_FLIGHT; i++) {
        char name[32];
        task[i] = (struct task){.client = r, .finished = &finished, .error = 1};
        redlock_request q = {.size = sizeof q, .done = on_done, .data = &task[i]};
        snprintf(name, sizeof name, "name-%d", i);
        CHECK_OK(redlock_start(r, name, 20000, &q, &task[i].lock));
    }
    loop_until(r, &finished, IN_FLIGHT, 15000);
    for (int i = 0; i < IN_FLIGHT; i++) {
        CHECK_OK(task[i].error);
        CHECK(redlock_remaining_ms(task[i].lock) > 0);
        CHECK_OK(redlock_start_release(task[i].lock, on_done, &task[i]));
    }
    loop_until(r, &finished, 2 * IN_FLIGHT, 15000);
    for (int i = 0; i < IN_FLIGHT; i++) {
        CHECK_OK(task[i].error);
        redlock_lock_free(task[i].lock);
    }
    for (size_t q = 0; q < 3; q++)
        CHECK(cluster_await_empty(&f.cluster[q], 2000));
    /* Nothing left to do: the descriptor is silent, and a wait for it takes its time. */
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    for (int quiet = 0, tries = 0; quiet < 3; tries++) {
        CHECK(tries < 100);
        quiet = poll(&p, 1, 30) == 0 ? quiet + 1 : 0;
        CHECK(redlock_process(r, 0) >= 0);
    }
    redlock_close(r);
}

CASE(renewals_and_losses_in_a_loop,
     "One event loop renews locks of all quorums and tells the loss in one of them.")
{
    struct fleet f;
    struct task task[3];
    int finished = 0, lost = 0;
    enum { TTL_MS = CHECK_SANITIZED ? 2400 : 1500 };
    fleet_start(&f, 3, 1);
    redlock *r = fleet_open(&f, 0);
    for (size_t i = 0; i < 3; i++) {
        task[i] = (struct task){.client = r, .finished = &finished, .lost = &lost, .error = 1};
        redlock_request q = {.size = sizeof q,
                             .flags = REDLOCK_RENEW,
                             .done = on_done,
                             .lost = on_lost,
                             .data = &task[i]};
        CHECK_OK(redlock_start(r, fleet_name(&f, i, 0), TTL_MS, &q, &task[i].lock));
    }
    loop_until(r, &finished, 3, 10000);
    /* Timers only: three lives long nothing but renewals keeps them. */
    int64_t end_ms = now_ms() + 3 * TTL_MS;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    while (now_ms() < end_ms) {
        poll(&p, 1, 1000);
        CHECK(redlock_process(r, 0) >= 0);
    }
    CHECK_INT(0, lost);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(task[i].lock));
    server_freeze(&f.cluster[1].node[0]);
    loop_until(r, &lost, 1, 2 * TTL_MS);
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(task[1].lock));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(task[0].lock));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(task[2].lock));
    server_thaw(&f.cluster[1].node[0]);
    for (size_t i = 0; i < 3; i++)
        redlock_lock_free(task[i].lock);
    redlock_close(r);
}

CASE(a_silent_quorum_delays_nobody,
     "A hung quorum delays no lock of the others in one event loop.")
{
    struct fleet f;
    struct task silent = {.error = 1}, alive[20];
    int finished = 0, given_up = 0;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, 0);
    for (int i = 0; i < 3; i++)
        server_freeze(&f.cluster[1].node[i]);
    silent = (struct task){.client = r, .finished = &given_up, .error = 1};
    redlock_request q = {.size = sizeof q, .done = on_done, .data = &silent};
    CHECK_OK(redlock_start(r, fleet_name(&f, 1, 0), 20000, &q, &silent.lock));
    int64_t start_ms = now_ms();
    for (int i = 0; i < 20; i++) {
        alive[i] = (struct task){.client = r, .finished = &finished, .error = 1};
        q.data = &alive[i];
        CHECK_OK(redlock_start(r, fleet_name(&f, 0, i), 20000, &q, &alive[i].lock));
    }
    loop_until(r, &finished, 20, 10000);
    CHECK_BETWEEN(0, PATIENT_MS / 2 + pulse_late_ms(), now_ms() - start_ms);
    CHECK_INT(0, given_up);
    loop_until(r, &given_up, 1, 10000); /* its own time is the nodes' deadline */
    CHECK_INT(REDLOCK_NOQUORUM, silent.error);
    redlock_lock_free(silent.lock);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(alive[i].error);
        redlock_lock_free(alive[i].lock);
    }
    for (int i = 0; i < 3; i++)
        server_thaw(&f.cluster[1].node[i]);
    redlock_close(r);
}

CASE(process_waits, "redlock_process() waits for its timeout, or for work of any quorum.")
{
    struct fleet f;
    struct task task = {.error = 1};
    int finished = 0;
    fleet_start(&f, 2, 1);
    redlock *r = fleet_open_warm(&f, 0);
    for (size_t i = 0; i < 2; i++) {
        task = (struct task){.client = r, .finished = &finished, .error = 1};
        redlock_request q = {.size = sizeof q, .done = on_done, .data = &task};
        int64_t end_ms = now_ms() + 5000;
        CHECK_OK(redlock_start(r, fleet_name(&f, i, 0), 20000, &q, &task.lock));
        while (finished == (int)i && now_ms() < end_ms)
            CHECK(redlock_process(r, -1) >= 0);
        CHECK_INT(i + 1, finished);
        CHECK_OK(task.error);
        redlock_lock_free(task.lock);
    }
    redlock_close(r);
}
