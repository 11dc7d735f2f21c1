/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums while memory runs out or calls fail: a client is opened whole or not at all,
 * and whatever failed leaves no descriptor, no thread and no crash behind.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"
#include "inject_shim.h"

#include <errno.h>

enum { CALLS_MAX = 400, TTL_MS = 8000 };

struct walk {
    struct fleet fleet;
    uint32_t flags;
    int descriptors;
};

static bool has_closed_all(void *data)
{
    return count_descriptors() == ((const struct walk *)data)->descriptors;
}

static void check_error(const char *what, int error)
{
    if (error != REDLOCK_OK && error != REDLOCK_NOMEM && error != REDLOCK_SYSTEM &&
        error != REDLOCK_NOQUORUM)
        FAIL("%s: %s: %s", what, redlock_error_name(error), redlock_detail());
    CHECK(error == REDLOCK_OK || redlock_detail()[0] != '\0');
}

/* Started or refused; what was started has one event, made of what all quorums answer. */
static void list_all(redlock *r)
{
    const redlock_event *event = NULL;
    redlock_job job = 0;
    int error = redlock_start_list(r, NULL, &job);
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    check_error("start of a list", error);
    if (error)
        return;
    while (redlock_next(r, &event, 50) != 1)
        CHECK(now_ms() < end_ms);
    CHECK_INT(REDLOCK_EVENT_ANSWERED, event->type);
    CHECK(event->job == job && (!event->error || event->detail[0] != '\0'));
    check_error("answer", event->error);
    CHECK(next_event(r, 0) == NULL);
}

static void use(struct walk *w, redlock *r)
{
    for (size_t i = 0; i < w->fleet.count; i++) {
        redlock_lock *lock = NULL;
        int error = redlock_acquire(r, fleet_name(&w->fleet, i, 0), TTL_MS, NULL, &lock);
        check_error("acquire", error);
        if (error)
            continue;
        CHECK(redlock_remaining_ms(lock) > 0);
        check_error("release", redlock_release(lock));
        redlock_lock_free(lock);
    }
    check_error("list", redlock_list(r, NULL));
    check_error("ping", redlock_ping(r, NULL));
    list_all(r);
}

/* True: it came to the failing call. */
static bool walk_with(struct walk *w, enum inject_call call, int nth, int error, bool lasting)
{
    redlock_options o = fleet_options(&w->fleet);
    redlock *r = NULL;
    int failure;
    bool fired;
    o.flags = w->flags;
    o.node_timeout_ms = STEADY_MS;
    inject_arm(call, nth, error, lasting);
    failure = redlock_open(&o, &r);
    check_error("open", failure);
    CHECK((failure == REDLOCK_OK) == (r != NULL));
    if (r)
        use(w, r);
    redlock_close(r);
    fired = inject_fired();
    inject_disarm();
    if (!wait_until(has_closed_all, w))
        FAIL("call %d: %d descriptors are open, %d were before", nth, count_descriptors(),
             w->descriptors);
    return fired;
}

static void fail_each(uint32_t flags, enum inject_call call, int error, bool lasting, int least)
{
    static struct walk w;
    int n = 1;
    fleet_start(&w.fleet, 2, 1);
    w.flags = flags;
    w.descriptors = count_descriptors();
    CHECK(!walk_with(&w, INJECT_NOTHING, 1, 0, false));
    while (walk_with(&w, call, n, error, lasting))
        CHECK(n++ < CALLS_MAX);
    CHECK(n > least);
}

CASE_OF(memory, "With several quorums any single allocation may fail without harm.",
        fail_each(0, INJECT_MEMORY, ENOMEM, false, 10));

CASE_OF(memory_for_good,
        "With several quorums all allocations may fail from any one on without harm.",
        fail_each(REDLOCK_THREAD, INJECT_MEMORY, ENOMEM, true, 10));

CASE_OF(epoll_sets,
        "With several quorums any epoll_create1() may fail once without a crash or a leak.",
        fail_each(0, INJECT_EPOLL_CREATE, EMFILE, false, 2));

CASE_OF(epoll_members,
        "With several quorums any epoll_ctl() may fail once without a crash or a leak.",
        fail_each(0, INJECT_EPOLL_CTL, ENOMEM, false, 4));

CASE_OF(second_thread,
        "With several quorums the start of any I/O thread may fail without a crash or a leak.",
        fail_each(REDLOCK_THREAD, INJECT_THREAD, EAGAIN, false, 2));

CASE_OF(timers, "With several quorums waits in a loop end although no timer can be set.",
        fail_each(0, INJECT_TIMERFD_SETTIME, ENOMEM, true, 1));
