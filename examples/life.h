/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a lock as a table of functions by the type of event: for those who like
 * callbacks. life_drain() is the whole of it; what calls it is the loop of the program.
 */
#ifndef EXAMPLE_LIFE_H
#define EXAMPLE_LIFE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdio.h>

#define TTL_MS 5000
#define WAIT_MS 10000

struct life {
    bool is_over;
    int status;
};

static void fail(struct life *life, const redlock_event *event)
{
    fprintf(stderr, "%s: %s: %s\n", redlock_event_text(event->type),
            redlock_strerror(event->error), event->detail);
    life->status = 1;
}

static void on_acquired(struct life *life, const redlock_event *event)
{
    if (event->error != REDLOCK_OK) {
        fail(life, event);
        redlock_lock_free(event->lock);
        life->is_over = true;
        return;
    }
    printf("acquired: %lld ms left\n", (long long)redlock_remaining_ms(event->lock));
    redlock_start_extend(event->lock, TTL_MS);
}

static void on_extended(struct life *life, const redlock_event *event)
{
    if (event->error == REDLOCK_OK) {
        printf("extended: %lld ms left\n", (long long)redlock_remaining_ms(event->lock));
    } else {
        fail(life, event); /* the old deadline stands: release what we have */
    }
    redlock_start_release(event->lock);
}

static void on_released(struct life *life, const redlock_event *event)
{
    printf("released: %s\n", redlock_error_name(event->error));
    if (event->error != REDLOCK_OK) {
        fail(life, event);
    }
    redlock_lock_free(event->lock);
    life->is_over = true;
}

static void (*const handlers[])(struct life *life, const redlock_event *event) = {
    [REDLOCK_EVENT_ACQUIRED] = on_acquired,
    [REDLOCK_EVENT_EXTENDED] = on_extended,
    [REDLOCK_EVENT_RELEASED] = on_released,
    [REDLOCK_EVENT_LOST] = fail, /* stop using what the lock protects */
};

/* When redlock_fd() is readable: every event to its function. */
static void life_drain(struct life *life, redlock *client)
{
    const redlock_event *event;

    while (redlock_next(client, &event, 0) == 1) {
        if ((size_t)event->type < sizeof handlers / sizeof *handlers && handlers[event->type]) {
            handlers[event->type](life, event);
        }
    }
}

static bool life_begin(struct life *life, redlock *client, const char *name)
{
    redlock_request request = REDLOCK_REQUEST(.wait_ms = WAIT_MS);
    redlock_lock *lock;

    *life = (struct life){.is_over = false};
    if (redlock_start_acquire(client, name, TTL_MS, &request, &lock) == REDLOCK_OK) {
        return true;
    }
    fprintf(stderr, "%s\n", redlock_detail());
    return false;
}

#endif
