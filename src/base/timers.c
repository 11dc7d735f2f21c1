/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/timers.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

bool rl_timers_reserve(struct rl_timers *timers, size_t count)
{
    size_t capacity = timers->capacity ? timers->capacity : CAPACITY_FIRST;
    struct rl_timer **heap;

    if (count <= timers->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    heap = realloc(timers->heap, capacity * sizeof *heap);
    if (!heap)
        return false;
    timers->heap = heap;
    timers->capacity = capacity;
    return true;
}

static void put(struct rl_timers *timers, size_t at, struct rl_timer *timer)
{
    timers->heap[at] = timer;
    timer->place = (uint32_t)(at + 1);
}

/* Moves the timer that stands there to where its time belongs. */
static void sift(struct rl_timers *timers, size_t at)
{
    struct rl_timer *timer = timers->heap[at];

    while (at > 0 && timers->heap[(at - 1) / 2]->heap_ns > timer->heap_ns) {
        put(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child = 2 * at + 1; child < timers->count; child = 2 * at + 1) {
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->heap_ns < timers->heap[child]->heap_ns)
            child++;
        if (timer->heap_ns <= timers->heap[child]->heap_ns)
            break;
        put(timers, at, timers->heap[child]);
        at = child;
    }
    put(timers, at, timer);
}

static void remove_at(struct rl_timers *timers, size_t at)
{
    struct rl_timer *last = timers->heap[--timers->count];

    timers->heap[at]->place = 0;
    if (at == timers->count)
        return;
    put(timers, at, last);
    sift(timers, at);
}

void rl_timers_set(struct rl_timers *timers, struct rl_timer *timer, int64_t due_ns)
{
    if (due_ns == INT64_MAX) {
        if (timer->place)
            remove_at(timers, timer->place - 1);
        return;
    }
    timer->due_ns = due_ns;
    if (!timer->place)
        put(timers, timers->count++, timer);
    else if (due_ns >= timer->heap_ns && timer->place != 1)
        return;
    timer->heap_ns = due_ns;
    sift(timers, timer->place - 1);
}

int64_t rl_timers_next_ns(const struct rl_timers *timers)
{
    return timers->count ? timers->heap[0]->heap_ns : INT64_MAX;
}

struct rl_timer *rl_timers_due(struct rl_timers *timers, int64_t now_ns)
{
    while (timers->count && timers->heap[0]->heap_ns <= now_ns) {
        struct rl_timer *timer = timers->heap[0];

        if (timer->due_ns <= now_ns) {
            remove_at(timers, 0);
            return timer;
        }
        timer->heap_ns = timer->due_ns;
        sift(timers, 0);
    }
    return NULL;
}

void rl_timers_free(struct rl_timers *timers)
{
    free(timers->heap);
    *timers = (struct rl_timers){0};
}
