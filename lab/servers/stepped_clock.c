/* SPDX-License-Identifier: BSD-2-Clause */
#include "stepped_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Straight to the kernel: the vDSO is behind the function that is being replaced. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (syscall(SYS_clock_gettime, clock, out) != 0)
        return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI) {
        int64_t ms = stepped_clock_offset_ms();
        int64_t ns = out->tv_nsec + ms % 1000 * 1000000;
        out->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
        out->tv_nsec = (ns + 1000000000) % 1000000000;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
