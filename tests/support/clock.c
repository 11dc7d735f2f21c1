/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <errno.h>
#include <time.h>

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * RL_NS_PER_S + t.tv_nsec;
}

int64_t now_ms(void)
{
    return now_ns() / RL_NS_PER_MS;
}

void sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * RL_NS_PER_MS};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        continue;
}

bool wait_until(bool (*done)(void *), void *data)
{
    return wait_within(done, data, GIVE_UP_MS);
}

bool wait_within(bool (*done)(void *), void *data, int64_t limit_ms)
{
    int64_t end_ms = now_ms() + limit_ms;
    while (!done(data)) {
        if (now_ms() >= end_ms)
            return false;
        sleep_ms(2);
    }
    return true;
}
