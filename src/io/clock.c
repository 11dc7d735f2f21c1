/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/clock.h"

#include <time.h>

int64_t rl_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
