/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only source of randomness: getrandom(2), read ahead in one piece so that a lock does not
 * cost a system call. What was handed out is wiped. A forked child never gets here with its
 * parent's pool: its calls answer FORKED.
 */
#ifndef RL_IO_ENTROPY_H
#define RL_IO_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

#define RL_ENTROPY_POOL 4096

struct rl_entropy {
    size_t left;
    uint8_t pool[RL_ENTROPY_POOL];
};

/* An rl_random_fn over a struct rl_entropy. */
void rl_entropy_draw(void *entropy, void *bytes, size_t size);

#endif
