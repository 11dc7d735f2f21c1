/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject_walk.h"

#include <stdio.h>

#include "check.h"
#include "clock.h"

enum {
    QUORUM = 2,
    UP_AGAIN_MS = GIVE_UP_MS,
    IDLE_MS = 5,
    IDLE_TURNS_MAX = 50, /* a client that spins makes thousands */
};

#define LEASE_KEY "AZaz09_-AZaz09_-AZaz09"

/*
 * Too little memory, a failed call, nodes without a request: nothing else has happened.
 */
static void check_outcome(const struct walk *w, const char *what, int error)
{
    /* A wait this short ends before it has begun when the I/O thread gets no CPU. */
    if (error == REDLOCK_TIMEOUT && w->wait_ms == WAIT_IN_VAIN_MS)
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

/* The same for a call of this thread. Outcomes are explained in their events. */
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

void lock_blocking(struct walk *w, redlock *r, const char *what, uint32_t flags)
{
    redlock_request q = REDLOCK_REQUEST(.flags = flags, .wait_ms = w->wait_ms);
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

/*
 * The event of this type, which comes once. The calls that fail may be those of redlock_next().
 * A loss is reported only after the grant was.
 */
static const redlock_event *drive(struct walk *w, redlock *r, int type)
{
    const redlock_event *event;
    int64_t end_ms = now_ms() + DONE_WITHIN_MS;

    while (now_ms() < end_ms) {
        if (redlock_next(r, &event, 50) != 1)
            continue;
        if (event->error)
            CHECK(event->detail[0] != '\0');
        if (event->type == type)
            return event;
        CHECK(event->type >= REDLOCK_EVENT_LOST && event->type != REDLOCK_EVENT_ANSWERED);
        if (event->type == REDLOCK_EVENT_LOST)
            CHECK_INT(REDLOCK_EVENT_RELEASED, type);
    }
    FAIL("walk %d: the event '%s' did not come", w->number, redlock_event_text(type));
}

void lock_asynchronously(struct walk *w, redlock *r)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = w->wait_ms);
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int error;

    station_name_of(w, "asynchronous", name);
    error = redlock_start_acquire(r, name, w->ttl_ms, &q, &lock);
    station_check_error(w, "start", error);
    if (error)
        return;
    error = drive(w, r, REDLOCK_EVENT_ACQUIRED)->error;
    if (error == REDLOCK_OK) {
        station_check_grant(w, lock);
        station_check_error(w, "start release", redlock_start_release(lock));
        error = drive(w, r, REDLOCK_EVENT_RELEASED)->error;
    }
    CHECK(error != REDLOCK_SYSTEM);
    if (error)
        check_outcome(w, "asynchronously", error);
    redlock_lock_free(lock);
}

/* Waits for what a test's own key keeps from it, until it is to stop. */
void wait_and_cancel(struct walk *w, redlock *r)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_FOREVER);
    const redlock_event *event;
    redlock_lock *lock = NULL;
    int error = redlock_start_acquire(r, "occupied", w->ttl_ms, &q, &lock);

    station_check_error(w, "start", error);
    if (error)
        return;
    if (redlock_next(r, &event, 20) == 1 && event->type == REDLOCK_EVENT_ACQUIRED)
        check_outcome(w, "wait", event->error ? event->error : REDLOCK_BUSY);
    CHECK_OK(redlock_cancel(lock));
    while (redlock_next(r, &event, 0) == 1)
        CHECK_INT(REDLOCK_EVENT_WARNING, event->type);
    redlock_lock_free(lock);
}

/* Each is started or refused, and what was started is reported once. */
void start_jobs(struct walk *w, redlock *r)
{
    for (int i = 0; i < 4; i++) {
        const redlock_answer *answer;
        const redlock_event *event;
        redlock_job job = 0;
        int error;

        switch (i) {
        case 0:
            error = redlock_start_query(r, "occupied", NULL, &job);
            break;
        case 1:
            error = redlock_start_list(r, NULL, &job);
            break;
        case 2:
            error = redlock_start_ping(r, NULL, &job);
            break;
        default:
            error = redlock_start_audit(r, w->ttl_ms, NULL, &job);
        }
        station_check_error(w, "start of a job", error);
        if (error)
            continue;
        event = drive(w, r, REDLOCK_EVENT_ANSWERED);
        answer = event->answer;
        CHECK(event->job == job);
        check_outcome(w, "a job", event->error);
        for (size_t k = 0; !event->error && k < answer->name_count; k++)
            CHECK(answer->names[k][0] != '\0');
        for (size_t k = 0; !event->error && k < answer->check_count; k++)
            CHECK(answer->checks[k].text[0] != '\0');
    }
}

/*
 * Released by its key: OK says that no majority has it. EXPIRED: an earlier call had done it.
 */
static void release_by_key_twice(struct walk *w, redlock *r, const char *name,
                                 const char *value)
{
    redlock_job job = 0;
    char key[REDLOCK_NAME_MAX + 16];
    int error = redlock_release_by_key(r, name, LEASE_KEY, NULL);

    station_check_error(w, "release by key", error);
    snprintf(key, sizeof key, "redlock:%s", name);
    inject_suspend();
    if (error == REDLOCK_OK)
        CHECK(cluster_count_value(&w->cluster, key, value) < QUORUM);
    inject_resume();
    error = redlock_start_release_by_key(r, name, LEASE_KEY, NULL, &job);
    station_check_error(w, "start of a release by key", error);
    if (error)
        return;
    error = drive(w, r, REDLOCK_EVENT_ANSWERED)->error;
    check_outcome(w, "the release by key", error == REDLOCK_EXPIRED ? REDLOCK_OK : error);
}

/* Acquired by one handle, renewed by another, ended by its key: as replicas of a service do. */
void hold_lease(struct walk *w, redlock *r)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .idempotency_key = LEASE_KEY,
                                        .wait_ms = w->wait_ms);
    redlock_lock *lock = NULL, *adopted = NULL;
    char name[REDLOCK_NAME_MAX + 1], value[REDLOCK_VALUE_MAX + 1];
    int error;

    station_name_of(w, "lease", name);
    error = redlock_acquire(r, name, w->ttl_ms, &q, &lock);
    station_check_error(w, "acquire a lease", error);
    if (error)
        return;
    station_check_grant(w, lock);
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    error = redlock_adopt(r, name, value, NULL, &adopted);
    station_check_error(w, "adopt", error);
    CHECK((error == REDLOCK_OK) == (adopted != NULL));
    redlock_lock_free(lock);
    if (adopted) {
        station_check_error(w, "extend what was adopted", redlock_extend(adopted, w->ttl_ms));
        station_check_grant(w, adopted);
    }
    redlock_lock_free(adopted);
    release_by_key_twice(w, r, name, value);
}

void look_around(struct walk *w, redlock *r)
{
    redlock_answer *answer = NULL;
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int error = redlock_query(r, "occupied", &answer);

    station_check_error(w, "query", error);
    if (error == REDLOCK_OK)
        CHECK_STR("somebody", answer->info->holder.value);
    redlock_answer_free(answer);
    station_check_error(w, "ping", redlock_ping(r, NULL));
    error = redlock_break(r, "occupied", "0123456789012345678901234567890123456789", NULL);
    station_check_error(w, "break", error == REDLOCK_EXPIRED ? REDLOCK_OK : error);
    station_name_of(w, "adopted", name);
    error = redlock_adopt(r, name, "a value from elsewhere", NULL, &lock);
    station_check_error(w, "adopt", error);
    if (error)
        return;
    error = redlock_fd(r);
    station_check_error(w, "descriptor", error < 0 ? error : REDLOCK_OK);
    redlock_lock_free(lock);
}

/* With nothing to do a client sleeps. */
static void check_idle(struct walk *w, redlock *r)
{
    const redlock_event *event;
    int before = inject_waits();
    int64_t end_ms = now_ms() + IDLE_MS;

    while (now_ms() < end_ms)
        redlock_next(r, &event, IDLE_MS);
    if (inject_waits() - before > IDLE_TURNS_MAX)
        FAIL("walk %d: %d turns in %d ms of nothing to do", w->number, inject_waits() - before,
             IDLE_MS);
}

void await_all_up(struct walk *w, redlock *r)
{
    const redlock_event *event;
    int64_t end_ms = now_ms() + UP_AGAIN_MS;

    inject_suspend();
    for (size_t i = 0; i < NODES;) {
        redlock_node_info info = REDLOCK_NODE_INFO();

        CHECK_OK(redlock_node(r, i, &info));
        if (info.state == REDLOCK_NODE_UP) {
            i++;
            continue;
        }
        if (now_ms() >= end_ms)
            FAIL("walk %d: node %zu is not up again: state %d, %s", w->number, i, info.state,
                 info.text);
        redlock_next(r, &event, 1);
    }
    check_idle(w, r);
    inject_resume();
}
