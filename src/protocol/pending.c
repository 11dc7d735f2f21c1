/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/pending.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

static bool grow_pending(struct rl_pending_queue *queue)
{
    uint32_t capacity = queue->capacity ? queue->capacity * 2 : FIRST_CAPACITY;
    struct rl_pending *entry;

    if (capacity > RL_PENDING_MAX)
        return false;
    entry = malloc(capacity * sizeof *entry);
    if (!entry)
        return false;
    for (uint32_t i = 0; i < queue->count; i++)
        entry[i] = queue->entry[(queue->first + i) & (queue->capacity - 1)];
    free(queue->entry);
    queue->entry = entry;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

bool rl_pending_push(struct rl_pending_queue *queue, struct rl_pending entry)
{
    if (queue->count == queue->capacity && !grow_pending(queue))
        return false;
    queue->entry[(queue->first + queue->count++) & (queue->capacity - 1)] = entry;
    return true;
}

bool rl_pending_pop(struct rl_pending_queue *queue, struct rl_pending *out)
{
    if (queue->count == 0)
        return false;
    *out = queue->entry[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    if (queue->sent_count > 0)
        queue->sent_count--;
    return true;
}

void rl_pending_free(struct rl_pending_queue *queue)
{
    free(queue->entry);
    *queue = (struct rl_pending_queue){0};
}
