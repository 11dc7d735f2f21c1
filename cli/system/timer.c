/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/timer.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int64_t timer_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * RL_NS_PER_S + now.tv_nsec;
}

int timer_open(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
}

void timer_set(int fd, int64_t at_ns)
{
    struct itimerspec alarm = {0};
    if (at_ns != TIMER_NEVER) {
        if (at_ns < 1)
            at_ns = 1; /* zero would disarm it */
        alarm.it_value.tv_sec = at_ns / RL_NS_PER_S;
        alarm.it_value.tv_nsec = at_ns % RL_NS_PER_S;
    }
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &alarm, NULL);
}

void timer_drain(int fd)
{
    uint64_t expirations;
    ssize_t ignored = read(fd, &expirations, sizeof expirations);
    (void)ignored;
}
