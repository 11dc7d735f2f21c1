/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocators hand out memory in steps. What would be lost to rounding may as well be room for a
 * longer text: then things of similar size can follow each other in the same piece.
 */
#ifndef RL_ENGINE_PIECE_H
#define RL_ENGINE_PIECE_H

#include <stddef.h>

#define RL_PIECE_STEP 16
#define RL_PIECE_OVERHEAD 8 /* the allocator's own, in every piece */

/* The largest size that costs no more than this one. */
static inline size_t rl_piece_size(size_t size)
{
    size_t piece = size + RL_PIECE_OVERHEAD + RL_PIECE_STEP - 1;

    return piece - piece % RL_PIECE_STEP - RL_PIECE_OVERHEAD;
}

#endif
