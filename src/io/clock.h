/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only source of time that decides about a lock: CLOCK_BOOTTIME, which cannot be set and
 * which goes on in suspend. The wall clock is for people: it shows when a holder began, and
 * decides nothing. Waits for a condition variable are by CLOCK_MONOTONIC, the only steady clock
 * that those know.
 */
#ifndef RL_IO_CLOCK_H
#define RL_IO_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/time.h"

static inline int64_t rl_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * RL_NS_PER_S + now.tv_nsec;
}

/* CLOCK_REALTIME; data is not used. */
static inline int64_t rl_wall_ms(void *data)
{
    struct timespec now;

    (void)data;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / RL_NS_PER_MS;
}

#endif
