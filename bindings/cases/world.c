/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The entry called `name` of an array whose elements begin with their name, or a free one. */
static void *find(void *array, size_t count, size_t size, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        char *entry = (char *)array + i * size;

        if (entry[0] == '\0')
            snprintf(entry, NAME_MAX_BYTES, "%s", name);
        if (strcmp(entry, name) == 0)
            return entry;
    }
    fprintf(stderr, "too many names in one case: %s\n", name);
    exit(2);
}

struct actor *world_actor(struct world *w, const char *name)
{
    return find(w->actor, CLIENTS_MAX, sizeof w->actor[0], name);
}

struct held *world_held(struct world *w, const char *name)
{
    return find(w->held, LOCKS_MAX, sizeof w->held[0], name);
}

struct mark *world_mark(struct world *w, const char *name)
{
    return find(w->mark, MARKS_MAX, sizeof w->mark[0], name);
}

bool world_fail(struct world *w, const char *format, ...)
{
    va_list args;

    if (w->why[0])
        return false;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
    return false;
}

static void note(struct outcome *out, int error, const char *said, const redlock_report *report)
{
    memset(out, 0, sizeof *out);
    out->error = error;
    snprintf(out->said, sizeof out->said, "%s", said);
    if (report)
        out->report = *report;
}

void outcome_take(struct outcome *out, int error, const redlock_report *report)
{
    char said[SAID_MAX];

    snprintf(said, sizeof said, "%s", error ? redlock_detail() : "");
    note(out, error, said, error ? redlock_failure_report() : report);
}

int64_t world_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void world_turn(struct world *w, struct held *held, int timeout_ms)
{
    const redlock_event *event;
    int got = redlock_next(held->client, &event, timeout_ms);

    if (got < 0)
        world_fail(w, "redlock_next: %s", redlock_detail());
    if (got != 1 || !event->lock)
        return;
    held = event->data;
    if (event->type == REDLOCK_EVENT_LOST) {
        held->losses++;
        snprintf(held->lost_said, sizeof held->lost_said, "%s: %s",
                 redlock_error_name(event->error), event->detail);
    } else if (event->type == REDLOCK_EVENT_ACQUIRED) {
        if (!held->is_pending)
            world_fail(w, "an outcome of '%s', which has one", held->name);
        held->is_pending = false;
        note(&held->outcome, event->error, event->detail, redlock_lock_report(event->lock));
    }
}

void world_sleep(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

void world_end(struct world *w)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        redlock_close(w->actor[i].client);
    for (size_t i = 0; i < LOCKS_MAX; i++)
        redlock_lock_free(w->held[i].lock);
}
