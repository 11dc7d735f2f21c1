/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two sources of randomness.
 *
 * What must be unguessable and never come twice (the values of locks, the client's name in the
 * queues) is read from getrandom(2) when it is needed. A virtual machine that is cloned or
 * restored while a client runs hands out twice what was read ahead, and a node takes an equal
 * value for the same holder. So one call reads what one batch of requests needs, and what is
 * left is forgotten when the batch is sent: no byte outlives the unsent requests that it was
 * read for.
 *
 * What only spreads attempts over time comes from a small generator, seeded when the client
 * opens.
 */
#ifndef RL_IO_ENTROPY_H
#define RL_IO_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

#define RL_ENTROPY_POOL 4096

struct rl_entropy {
    uint64_t jitter; /* the generator's state */
    size_t drawn;    /* bytes that this batch has needed so far ... */
    size_t expected; /* ... and the one before it in all */
    size_t left;     /* unused bytes at the front of the pool */
    uint8_t pool[RL_ENTROPY_POOL];
};

/* -1: the kernel has no randomness, errno has the cause. */
int rl_entropy_init(struct rl_entropy *entropy);

/* An rl_secret_fn over a struct rl_entropy; -1 as above. At most RL_ENTROPY_POOL bytes. */
int rl_entropy_draw(void *entropy, void *bytes, size_t size);

/* The batch is sent: the next one reads anew. */
void rl_entropy_forget(struct rl_entropy *entropy);

/* An rl_random_fn over a struct rl_entropy, for what may be guessed. */
uint32_t rl_entropy_jitter(void *entropy);

#endif
