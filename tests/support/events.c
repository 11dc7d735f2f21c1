/* SPDX-License-Identifier: BSD-2-Clause */
#include "events.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "clock.h"

const redlock_event *next_event(redlock *r, int64_t limit_ms)
{
    const redlock_event *event;
    int64_t end_ms = now_ms() + limit_ms;
    int64_t left_ms = limit_ms;
    int found;

    /* It may return 0 before its timeout, after a turn that caused no event. */
    do {
        found = redlock_next(r, &event, (int)(left_ms > 0 ? left_ms : 0));
        if (found < 0)
            CHECK_OK(found);
        left_ms = end_ms - now_ms();
    } while (found == 0 && left_ms > 0);
    return found ? event : NULL;
}

const redlock_event *poll_event(redlock *r, int64_t limit_ms)
{
    const redlock_event *event;
    int64_t end_ms = now_ms() + limit_ms;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};

    CHECK(p.fd >= 0);
    while (!(event = next_event(r, 0)) && now_ms() < end_ms)
        poll(&p, 1, (int)(end_ms - now_ms()));
    return event;
}

static bool is_noise(const redlock_event *event)
{
    return event->type == REDLOCK_EVENT_WARNING;
}

const redlock_event *expect_event(const char *file, int line, redlock *r, int type, int error,
                                  const redlock_lock *lock, redlock_job job)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    const redlock_event *event;

    do {
        event = next_event(r, end_ms - now_ms());
        if (!event)
            check_fail(file, line, "expected the event '%s', none came",
                       redlock_event_text(type));
    } while (event->type != type && is_noise(event));
    if (event->type != type || event->error != error)
        check_fail(file, line, "expected '%s' %s, was '%s' %s: %s", redlock_event_text(type),
                   redlock_error_name(error), redlock_event_text(event->type),
                   redlock_error_name(event->error), event->detail);
    if (event->lock != lock || event->job != job)
        check_fail(file, line, "'%s' is about another lock or job", redlock_event_text(type));
    return event;
}

void expect_no_event(const char *file, int line, redlock *r)
{
    const redlock_event *event;

    while ((event = next_event(r, 0)))
        if (!is_noise(event))
            check_fail(file, line, "expected no event, was '%s' %s: %s",
                       redlock_event_text(event->type), redlock_error_name(event->error),
                       event->detail);
}

int read_warnings(redlock *r, char *out, size_t size)
{
    const redlock_event *event;
    size_t used = strlen(out);
    int count = 0;

    while ((event = next_event(r, 0))) {
        CHECK_INT(REDLOCK_EVENT_WARNING, event->type);
        used +=
            (size_t)snprintf(out + used, size - used, "%s %s\n", event->address, event->detail);
        CHECK(used < size);
        count++;
    }
    return count;
}

void tally_event(const redlock_event *event)
{
    struct tally *tally = event->data;

    if (!tally)
        return;
    tally->count[event->type]++;
    if (event->type == REDLOCK_EVENT_QUEUED)
        tally->place = event->place;
    else
        tally->error = event->error;
}

void drain(redlock *r)
{
    const redlock_event *event;

    while ((event = next_event(r, 0)))
        tally_event(event);
}

void drain_within(redlock *r, int64_t limit_ms)
{
    const redlock_event *event = next_event(r, limit_ms);

    if (event)
        tally_event(event);
}

void drain_until(const char *file, int line, redlock *r, const struct tally *tally, int type,
                 int wanted)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;

    while (tally->count[type] < wanted) {
        const redlock_event *event = poll_event(r, end_ms - now_ms());
        if (!event)
            check_fail(file, line, "%d of %d events '%s' came", tally->count[type], wanted,
                       redlock_event_text(type));
        tally_event(event);
    }
}
