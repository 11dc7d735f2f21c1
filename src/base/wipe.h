/* SPDX-License-Identifier: BSD-2-Clause */
/* Secrets are overwritten where they are not needed any more. */
#ifndef RL_BASE_WIPE_H
#define RL_BASE_WIPE_H

#include <stddef.h>

/* Stores through a volatile pointer are observable: they stay although nothing reads them. */
static inline void rl_wipe(void *bytes, size_t size)
{
    volatile unsigned char *byte = bytes;

    for (size_t i = 0; i < size; i++)
        byte[i] = 0;
}

#endif
