/* SPDX-License-Identifier: BSD-2-Clause */
/* Secrets are overwritten where they are not needed any more. */
#ifndef RL_BASE_WIPE_H
#define RL_BASE_WIPE_H

#include <stddef.h>
#include <string.h>

/* To the compiler, something may read the bytes behind the stores: they stay. */
static inline void rl_wipe(void *bytes, size_t size)
{
    if (size == 0) /* of nothing: bytes may be NULL */
        return;
    memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

#endif
