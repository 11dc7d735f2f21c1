/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/events.h"

#include <stdlib.h>

#include "lab/fake/bytes.h"

#define CAPACITY_FIRST 256

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

void sim_events_add(struct sim_events *events, int64_t at_ns, sim_event_fn *run, void *subject,
                    uint64_t stamp)
{
    struct sim_event event = {at_ns, events->number++, run, subject, stamp};
    size_t at = events->count++;

    if (events->count > events->capacity) {
        events->capacity = events->capacity ? 2 * events->capacity : CAPACITY_FIRST;
        events->heap = fake_realloc(events->heap, events->capacity * sizeof *events->heap);
    }
    for (; at > 0 && is_before(&event, &events->heap[(at - 1) / 2]); at = (at - 1) / 2)
        events->heap[at] = events->heap[(at - 1) / 2];
    events->heap[at] = event;
}

bool sim_events_take(struct sim_events *events, struct sim_event *out)
{
    struct sim_event last;
    size_t at = 0;

    if (events->count == 0)
        return false;
    *out = events->heap[0];
    last = events->heap[--events->count];
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= events->count)
            break;
        if (child + 1 < events->count &&
            is_before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!is_before(&events->heap[child], &last))
            break;
        events->heap[at] = events->heap[child];
        at = child;
    }
    events->heap[at] = last;
    return true;
}

void sim_events_free(struct sim_events *events)
{
    free(events->heap);
    *events = (struct sim_events){0};
}
