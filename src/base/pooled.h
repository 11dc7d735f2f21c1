/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of connections, and the pool that their memory comes from.
 *
 * A connection has memory for bytes only while it has bytes: it takes a block when something
 * arrives or is to be sent, and gives it back when it is empty. The block that was given back
 * last is handed out first, so that a busy server works in a few warm blocks and allocates
 * nothing. An answer has a small block if it fits: those of one turn of the loop wait for each
 * other. What has to stay (half a request, what a slow client does not take) moves to a small
 * block as well. Only an answer that is larger than a large block is allocated by itself.
 *
 * Bytes that were used are overwritten at once, since requests carry tokens and lease ids, and
 * answers grants: outside of `start` to `end` no block has any, and no core has those of
 * requests that are over.
 */
#ifndef RL_BASE_POOLED_H
#define RL_BASE_POOLED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/wipe.h"

#define RL_BLOCK_SMALL 1024u
#define RL_BLOCK_LARGE 16384u
#define RL_BLOCKS_KEPT 64u /* free blocks of each size; more are given back to the system */

struct rl_block {
    struct rl_block *next;
};

struct rl_pool {
    struct rl_block *free[2]; /* small, large */
    unsigned count[2];
};

struct rl_pooled {
    char *bytes; /* NULL while it is empty */
    uint32_t capacity;
    uint32_t start; /* the first byte that was not taken */
    uint32_t end;
};

void rl_pool_free(struct rl_pool *pool);

static inline size_t rl_pooled_size(const struct rl_pooled *buffer)
{
    return buffer->end - buffer->start;
}

/* Room for at least `size` more bytes at the end, *room of them; NULL when out of memory. */
char *rl_pooled_room(struct rl_pool *pool, struct rl_pooled *buffer, size_t size, size_t *room);

/* The same for as much as a socket has: in a large block, at least. */
char *rl_pooled_room_to_read(struct rl_pool *pool, struct rl_pooled *buffer, size_t *room);

/* Bytes written into the room belong to the buffer. */
static inline void rl_pooled_commit(struct rl_pooled *buffer, size_t size)
{
    buffer->end += (uint32_t)size;
}

static inline void rl_pooled_take(struct rl_pooled *buffer, size_t size)
{
    rl_wipe(buffer->bytes + buffer->start, size);
    buffer->start += (uint32_t)size;
    if (buffer->start == buffer->end)
        buffer->start = buffer->end = 0;
}

/* For a while nothing will be added: keeps as little memory as its bytes need. */
void rl_pooled_park(struct rl_pool *pool, struct rl_pooled *buffer);

void rl_pooled_clear(struct rl_pool *pool, struct rl_pooled *buffer);

#endif
