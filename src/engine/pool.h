/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pieces of memory that are kept for the next user when they are given back, so that a busy
 * client allocates nothing. What is in a piece survives, but for its first pointer.
 */
#ifndef RL_ENGINE_POOL_H
#define RL_ENGINE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Allocators hand out memory in steps. What would be lost to rounding may as well be room for a
 * longer text: then things of similar size can follow each other in the same piece.
 */
#define RL_PIECE_STEP 16
#define RL_PIECE_OVERHEAD 8 /* the allocator's own, in every piece */

/* The largest size that costs no more than this one. */
static inline size_t rl_piece_size(size_t size)
{
    size_t piece = size + RL_PIECE_OVERHEAD + RL_PIECE_STEP - 1;

    return piece - piece % RL_PIECE_STEP - RL_PIECE_OVERHEAD;
}

struct rl_kept {
    struct rl_kept *next;
};

struct rl_pool {
    struct rl_kept *first;
    size_t count;
    bool closed; /* nothing is kept any more */
};

/* A piece that was kept, the last one first; NULL: there is none. */
static inline void *rl_pool_take(struct rl_pool *pool)
{
    struct rl_kept *piece = pool->first;

    if (!piece)
        return NULL;
    pool->first = piece->next;
    pool->count--;
    return piece;
}

/* Keeps the piece, unless there are so many already; then it is freed. */
static inline void rl_pool_give(struct rl_pool *pool, void *memory, size_t kept_max)
{
    struct rl_kept *piece = memory;

    if (pool->closed || pool->count >= kept_max) {
        free(memory);
        return;
    }
    piece->next = pool->first;
    pool->first = piece;
    pool->count++;
}

/* Frees what is kept. Pieces still in use are freed when they are given back. */
static inline void rl_pool_close(struct rl_pool *pool)
{
    void *piece;

    while ((piece = rl_pool_take(pool)) != NULL)
        free(piece);
    pool->closed = true;
}

#endif
