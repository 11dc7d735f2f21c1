/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject_stations.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "clock.h"

enum {
    QUORUM = 2,
    UP_AGAIN_MS = 5000,
    IDLE_MS = 5,
    IDLE_TURNS_MAX = 50, /* a client that spins makes thousands */
};

#define LEASE_TAG "AZaz09_-AZaz09_-AZaz09"

/* ---- what may and may not come of a failure ---- */

/* Too little memory, a failed call, nodes that could not be asked: nothing else has happened. */
static void check_outcome(const struct walk *w, const char *what, int error)
{
    /* A wait this short ends before it has begun when the I/O thread gets no CPU. */
    if (error == REDLOCK_TIMEOUT && w->wait_ms == WAIT_IN_VAIN_MS &&
        pulse_late_ms() >= WAIT_IN_VAIN_MS / 2)
        return;
    switch (error) {
    case REDLOCK_OK:
        return;
    case REDLOCK_LOST:
    case REDLOCK_EXPIRED:
    case REDLOCK_TIMEOUT:
    case REDLOCK_GUARDED: /* whose clock was it? */
        if (!w->paused)
            FAIL("%s: %s: %s", what, redlock_error_name(error), redlock_detail());
        /* fall through */
    case REDLOCK_NOMEM:
    case REDLOCK_SYSTEM:
    case REDLOCK_NOQUORUM:
        return;
    default:
        FAIL("%s: %s: %s", what, redlock_error_name(error), redlock_detail());
    }
}

/* The same for a call of this thread. Outcomes are explained to the callback, in its thread. */
void station_check_error(const struct walk *w, const char *what, int error)
{
    check_outcome(w, what, error);
    if (error && redlock_detail()[0] == '\0')
        FAIL("%s failed with %s and no explanation", what, redlock_error_name(error));
}

void station_check_grant(struct walk *w, const redlock_lock *lock)
{
    char key[REDLOCK_NAME_MAX + 16];
    int count;

    inject_suspend();
    snprintf(key, sizeof key, "redlock:%s", redlock_name(lock));
    count = cluster_count_value(&w->cluster, key, redlock_value(lock));
    /* Looked at afterwards: while it still lasts, it lasted when they were counted. */
    if (redlock_remaining_ms(lock) > 0 && count < QUORUM)
        FAIL("walk %d: %s is held, and on %d of %d nodes", w->number, redlock_name(lock), count,
             NODES);
    CHECK(redlock_remaining_ms(lock) <= w->ttl_ms);
    inject_resume();
}

void station_name_of(const struct walk *w, const char *what, char out[REDLOCK_NAME_MAX + 1])
{
    snprintf(out, REDLOCK_NAME_MAX + 1, "%s-%d", what, w->number);
}

/* ---- the stations ---- */

void lock_blocking(struct walk *w, redlock *r, const char *what, uint32_t flags)
{
    redlock_request q = {.size = sizeof q, .flags = flags, .wait_ms = w->wait_ms};
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int error;

    station_name_of(w, what, name);
    error = redlock_acquire(r, name, w->ttl_ms, &q, &lock);
    station_check_error(w, "acquire", error);
    CHECK((error == REDLOCK_OK) == (lock != NULL));
    if (error)
        return;
    station_check_grant(w, lock);
    if (flags & REDLOCK_FENCED)
        CHECK(redlock_fence(lock) > 0);
    error = redlock_extend(lock, w->ttl_ms);
    station_check_error(w, "extend", error);
    station_check_grant(w, lock);
    station_check_error(w, "release", redlock_release(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    redlock_lock_free(lock);
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct outcome *outcome = data;

    (void)lock;
    if (error)
        CHECK(redlock_detail()[0] != '\0');
    outcome->error = error;
    outcome->count++;
}

/* A loss is told only after the grant was told. */
void station_on_lost(redlock_lock *lock, int error, void *data)
{
    struct outcome *outcome = data;

    (void)lock;
    CHECK_INT(REDLOCK_LOST, error);
    CHECK_INT(1, outcome->count);
    CHECK_INT(REDLOCK_OK, outcome->error);
    outcome->lost_count++;
}

static bool is_over(void *data)
{
    return ((struct outcome *)data)->count > 0;
}

/* Until `done` was called, by whichever thread drives the client; it is called once. */
static int drive(struct walk *w, redlock *r, struct outcome *outcome)
{
    int64_t end_ms = now_ms() + DONE_WITHIN_MS;

    if (w->flags & REDLOCK_THREAD)
        wait_until(is_over, outcome, DONE_WITHIN_MS);
    while (!(w->flags & REDLOCK_THREAD) && !is_over(outcome) && now_ms() < end_ms)
        redlock_process(r, 50);
    if (outcome->count != 1)
        FAIL("walk %d: done was called %d times", w->number, outcome->count);
    return outcome->error;
}

void lock_asynchronously(struct walk *w, redlock *r)
{
    struct outcome acquired = {0};
    struct outcome released = {0};
    redlock_request q = {.size = sizeof q,
                         .done = on_done,
                         .lost = station_on_lost,
                         .data = &acquired,
                         .wait_ms = w->wait_ms};
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int error;

    station_name_of(w, "asynchronous", name);
    error = redlock_start(r, name, w->ttl_ms, &q, &lock);
    station_check_error(w, "start", error);
    if (error)
        return;
    error = drive(w, r, &acquired);
    if (error == REDLOCK_OK) {
        station_check_grant(w, lock);
        station_check_error(w, "start release",
                            redlock_start_release(lock, on_done, &released));
        error = drive(w, r, &released);
    }
    CHECK(error != REDLOCK_SYSTEM);
    if (error)
        check_outcome(w, "asynchronously", error);
    CHECK(acquired.lost_count <= 1);
    redlock_lock_free(lock);
}

/* A place that is told is one; the wait goes on. */
static void on_queued(redlock_lock *lock, int place, void *data)
{
    (void)lock;
    CHECK(place >= 1);
    CHECK_INT(0, ((struct outcome *)data)->count);
}

/* Waits for what a test's own key keeps from it, until it is told to stop. */
void wait_and_cancel(struct walk *w, redlock *r)
{
    struct outcome outcome = {0};
    redlock_request q = {.size = sizeof q,
                         .done = on_done,
                         .queued = on_queued,
                         .data = &outcome,
                         .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_lock *lock = NULL;
    int error = redlock_start(r, "occupied", w->ttl_ms, &q, &lock);

    station_check_error(w, "start", error);
    if (error)
        return;
    if (!(w->flags & REDLOCK_THREAD))
        redlock_process(r, 20);
    CHECK_OK(redlock_cancel(lock));
    error = drive(w, r, &outcome);
    if (error != REDLOCK_CANCELED)
        check_outcome(w, "wait", error);
    redlock_lock_free(lock);
}

static void note_answer(int error, const redlock_answer *answer, void *data)
{
    struct outcome *outcome = data;

    if (error)
        CHECK(redlock_detail()[0] != '\0');
    for (size_t i = 0; !error && i < answer->name_count; i++)
        CHECK(answer->names[i][0] != '\0');
    outcome->error = error;
    outcome->count++;
}

static void ignore_check(const redlock_check *check, void *data)
{
    (void)data;
    CHECK(check->text[0] != '\0');
}

/* Each is started or refused, and what was started is told once. */
void ask_asynchronously(struct walk *w, redlock *r)
{
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = {0};
        int error;

        switch (i) {
        case 0:
            error = redlock_start_query(r, "occupied", note_answer, &outcome);
            break;
        case 1:
            error = redlock_start_list(r, note_answer, &outcome);
            break;
        case 2:
            error = redlock_start_ping(r, note_answer, &outcome);
            break;
        default:
            error = redlock_start_audit(r, w->ttl_ms, ignore_check, note_answer, &outcome);
        }
        station_check_error(w, "start of a question", error);
        if (error == REDLOCK_OK)
            check_outcome(w, "a question", drive(w, r, &outcome));
    }
}

/* Released by its tag: OK says that no majority has it. EXPIRED: an earlier call had done it. */
static void release_by_tag(struct walk *w, redlock *r, const char *name, const char *value)
{
    struct outcome outcome = {0};
    redlock_report report = {.size = sizeof report};
    char key[REDLOCK_NAME_MAX + 16];
    int error = redlock_release_tagged(r, name, LEASE_TAG, &report);

    station_check_error(w, "release by tag", error);
    snprintf(key, sizeof key, "redlock:%s", name);
    inject_suspend();
    if (error == REDLOCK_OK)
        CHECK(cluster_count_value(&w->cluster, key, value) < QUORUM);
    inject_resume();
    error = redlock_start_release_tagged(r, name, LEASE_TAG, note_answer, &outcome);
    station_check_error(w, "start of a release by tag", error);
    if (error)
        return;
    error = drive(w, r, &outcome);
    check_outcome(w, "the release by tag", error == REDLOCK_EXPIRED ? REDLOCK_OK : error);
}

/* Acquired by one handle, renewed by another, ended by its tag: as replicas of a service do. */
void hold_lease(struct walk *w, redlock *r)
{
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_KEEP, .tag = LEASE_TAG, .wait_ms = w->wait_ms};
    redlock_request known = {.size = sizeof known};
    redlock_lock *lock = NULL, *adopted = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    char value[REDLOCK_VALUE_MAX + 1];
    int error;

    station_name_of(w, "lease", name);
    error = redlock_acquire(r, name, w->ttl_ms, &q, &lock);
    station_check_error(w, "acquire a lease", error);
    if (error)
        return;
    station_check_grant(w, lock);
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    error = redlock_adopt_as(r, name, value, &known, &adopted);
    station_check_error(w, "adopt", error);
    CHECK((error == REDLOCK_OK) == (adopted != NULL));
    redlock_lock_free(lock);
    if (adopted) {
        station_check_error(w, "extend what was adopted", redlock_extend(adopted, w->ttl_ms));
        station_check_grant(w, adopted);
    }
    redlock_lock_free(adopted);
    release_by_tag(w, r, name, value);
}

void look_around(struct walk *w, redlock *r)
{
    redlock_info info = {.size = sizeof info};
    redlock_report report = {.size = sizeof report};
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int error = redlock_query(r, "occupied", &info, &report);

    station_check_error(w, "query", error);
    if (error == REDLOCK_OK)
        CHECK_STR("somebody", info.holder);
    station_check_error(w, "ping", redlock_ping(r, NULL));
    error = redlock_break(r, "occupied", "0123456789012345678901234567890123456789", &report);
    station_check_error(w, "break", error == REDLOCK_EXPIRED ? REDLOCK_OK : error);
    station_name_of(w, "adopted", name);
    error = redlock_adopt(r, name, "a value from elsewhere", &lock);
    station_check_error(w, "adopt", error);
    if (error)
        return;
    error = redlock_event_fd(lock);
    station_check_error(w, "event descriptor", error < 0 ? error : REDLOCK_OK);
    redlock_lock_free(lock);
}

/* With nothing to do a client sleeps. */
static void check_idle(struct walk *w, redlock *r)
{
    int before = inject_waits();
    int64_t end_ms = now_ms() + IDLE_MS;

    while (now_ms() < end_ms)
        if (w->flags & REDLOCK_THREAD)
            sleep_ms(IDLE_MS);
        else
            redlock_process(r, IDLE_MS);
    if (inject_waits() - before > IDLE_TURNS_MAX)
        FAIL("walk %d: %d turns in %d ms of nothing to do", w->number, inject_waits() - before,
             IDLE_MS);
}

void await_all_up(struct walk *w, redlock *r)
{
    int64_t end_ms = now_ms() + UP_AGAIN_MS;

    inject_suspend();
    for (size_t i = 0; i < NODES;) {
        redlock_node_info info = {.size = sizeof info};

        CHECK_OK(redlock_node(r, i, &info));
        if (info.state == REDLOCK_NODE_UP) {
            i++;
            continue;
        }
        if (now_ms() >= end_ms)
            FAIL("walk %d: node %zu is not up again: state %d, %s", w->number, i, info.state,
                 info.text);
        if (w->flags & REDLOCK_THREAD)
            sleep_ms(1);
        else
            redlock_process(r, 1);
    }
    check_idle(w, r);
    inject_resume();
}
