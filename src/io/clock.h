/* SPDX-License-Identifier: BSD-2-Clause */
/* The only source of time: CLOCK_BOOTTIME, which cannot be set and which goes on in suspend. */
#ifndef RL_IO_CLOCK_H
#define RL_IO_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "core/time.h"

static inline int64_t rl_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * RL_NS_PER_S + now.tv_nsec;
}

#endif
