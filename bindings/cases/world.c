/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <poll.h>
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

void outcome_take(struct outcome *out, int error, const redlock_report *report)
{
    out->pending = false;
    out->error = error;
    snprintf(out->said, sizeof out->said, "%s", error ? redlock_detail() : "");
    memset(&out->report, 0, sizeof out->report);
    if (report)
        out->report = *report;
}

void outcome_answered(int error, const redlock_answer *answer, void *data)
{
    outcome_take(data, error, answer ? answer->report : NULL);
}

int64_t world_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void world_turn(struct world *w, int timeout_ms)
{
    struct pollfd watched[CLIENTS_MAX];
    redlock *client[CLIENTS_MAX];
    nfds_t count = 0;

    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (!w->actor[i].client)
            continue;
        client[count] = w->actor[i].client;
        watched[count].events = POLLIN;
        watched[count++].fd = redlock_fd(w->actor[i].client);
    }
    if (poll(watched, count, timeout_ms) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++)
        if (watched[i].revents && redlock_process(client[i], 0) < 0)
            world_fail(w, "redlock_process: %s", redlock_detail());
}

bool world_await(struct world *w, struct outcome *out)
{
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;

    while (out->pending) {
        if (world_now_ms() > end_ms)
            return world_fail(w, "no outcome after %d ms", GIVE_UP_MS);
        world_turn(w, 100);
    }
    return true;
}

void world_end(struct world *w)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        redlock_close(w->actor[i].client);
    for (size_t i = 0; i < LOCKS_MAX; i++)
        redlock_lock_free(w->held[i].lock);
}
