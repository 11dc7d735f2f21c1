/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pooled.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t sizes[2] = {RL_BLOCK_SMALL, RL_BLOCK_LARGE};

/* The pool's number for blocks of this capacity, or 2: allocated by itself. */
static unsigned class_of(uint32_t capacity)
{
    return capacity == RL_BLOCK_SMALL ? 0 : capacity == RL_BLOCK_LARGE ? 1 : 2;
}

static char *take_block(struct rl_pool *pool, uint32_t capacity)
{
    unsigned class = class_of(capacity);
    struct rl_block *block = class < 2 ? pool->free[class] : NULL;

    if (!block)
        return malloc(capacity);
    pool->free[class] = block->next;
    pool->count[class]--;
    return (char *)block;
}

static void give_block(struct rl_pool *pool, char *bytes, uint32_t capacity)
{
    unsigned class = class_of(capacity);
    struct rl_block *block = (struct rl_block *)(void *)bytes;

    if (!bytes)
        return;
    if (class == 2 || pool->count[class] >= RL_BLOCKS_KEPT) {
        free(bytes);
        return;
    }
    block->next = pool->free[class];
    pool->free[class] = block;
    pool->count[class]++;
}

void rl_pool_free(struct rl_pool *pool)
{
    for (unsigned class = 0; class < 2; class ++) {
        while (pool->free[class])
            free(take_block(pool, sizes[class]));
    }
}

/* Moves the bytes to a block of another size. 0/-1. */
static int move(struct rl_pool *pool, struct rl_pooled *buffer, uint32_t capacity)
{
    size_t size = rl_pooled_size(buffer);
    char *bytes = take_block(pool, capacity);

    if (!bytes)
        return -1;
    if (size > 0) {
        memcpy(bytes, buffer->bytes + buffer->start, size);
        rl_wipe(buffer->bytes + buffer->start, size);
    }
    give_block(pool, buffer->bytes, buffer->capacity);
    *buffer = (struct rl_pooled){bytes, capacity, 0, (uint32_t)size};
    return 0;
}

/* At least twice what there was, so that many small additions cost little. */
static uint32_t grown(const struct rl_pooled *buffer, size_t needed)
{
    if (needed <= RL_BLOCK_LARGE)
        return needed <= RL_BLOCK_SMALL ? RL_BLOCK_SMALL : RL_BLOCK_LARGE;
    /* Never exactly a size of the pool, which would take it for its own. */
    return (uint32_t)(needed > 2 * (size_t)buffer->capacity ? needed + 1
                                                            : 2 * (size_t)buffer->capacity);
}

char *rl_pooled_room(struct rl_pool *pool, struct rl_pooled *buffer, size_t size, size_t *room)
{
    size_t needed = rl_pooled_size(buffer) + size;

    if (buffer->capacity < needed) {
        if (move(pool, buffer, grown(buffer, needed)) < 0)
            return NULL;
    } else if (buffer->end + size > buffer->capacity) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, rl_pooled_size(buffer));
        buffer->end -= buffer->start;
        rl_wipe(buffer->bytes + buffer->end, buffer->start);
        buffer->start = 0;
    }
    *room = buffer->capacity - buffer->end;
    return buffer->bytes + buffer->end;
}

char *rl_pooled_room_to_read(struct rl_pool *pool, struct rl_pooled *buffer, size_t *room)
{
    if (buffer->capacity <= RL_BLOCK_SMALL && move(pool, buffer, RL_BLOCK_LARGE) < 0)
        return NULL;
    return rl_pooled_room(pool, buffer, 1, room);
}

void rl_pooled_park(struct rl_pool *pool, struct rl_pooled *buffer)
{
    size_t size = rl_pooled_size(buffer);

    if (size == 0)
        rl_pooled_clear(pool, buffer);
    else if (size <= RL_BLOCK_SMALL && buffer->capacity > RL_BLOCK_SMALL)
        move(pool, buffer, RL_BLOCK_SMALL); /* without memory it stays where it is */
}

void rl_pooled_clear(struct rl_pool *pool, struct rl_pooled *buffer)
{
    if (rl_pooled_size(buffer) > 0)
        rl_wipe(buffer->bytes + buffer->start, rl_pooled_size(buffer));
    give_block(pool, buffer->bytes, buffer->capacity);
    *buffer = (struct rl_pooled){NULL, 0, 0, 0};
}
