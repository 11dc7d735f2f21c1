/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/pending.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

uint32_t rl_pending_count(const struct rl_pending_queue *queue)
{
    return queue->tail - queue->head;
}

static bool grow(struct rl_pending_queue *queue)
{
    uint32_t capacity = queue->capacity ? queue->capacity * 2 : CAPACITY_FIRST;
    struct rl_pending *entry;

    if (capacity > RL_PENDING_MAX)
        return false;
    entry = malloc(capacity * sizeof *entry);
    if (!entry)
        return false;
    /* The places keep their numbers: others remember them. */
    for (uint32_t i = queue->head; i != queue->tail; i++)
        entry[i & (capacity - 1)] = queue->entry[i & (queue->capacity - 1)];
    free(queue->entry);
    queue->entry = entry;
    queue->capacity = capacity;
    return true;
}

bool rl_pending_push(struct rl_pending_queue *queue, struct rl_pending entry)
{
    if (rl_pending_count(queue) == queue->capacity && !grow(queue))
        return false;
    queue->entry[queue->tail++ & (queue->capacity - 1)] = entry;
    return true;
}

bool rl_pending_pop(struct rl_pending_queue *queue, struct rl_pending *out)
{
    if (queue->head == queue->tail)
        return false;
    *out = queue->entry[queue->head++ & (queue->capacity - 1)];
    return true;
}

void rl_pending_free(struct rl_pending_queue *queue)
{
    free(queue->entry);
    *queue = (struct rl_pending_queue){0};
}
