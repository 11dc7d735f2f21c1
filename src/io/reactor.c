/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/reactor.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

int rl_reactor_init(struct rl_reactor *reactor)
{
    int error;

    *reactor = (struct rl_reactor){-1, -1, -1, INT64_MAX, false};
    reactor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    reactor->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    reactor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reactor->epoll_fd >= 0 && reactor->timer_fd >= 0 && reactor->wake_fd >= 0 &&
        rl_reactor_add(reactor, reactor->timer_fd, EPOLLIN | EPOLLET, RL_REACTOR_TIMER) == 0 &&
        rl_reactor_add(reactor, reactor->wake_fd, EPOLLIN | EPOLLET, RL_REACTOR_WAKE) == 0)
        return 0;
    error = errno;
    rl_reactor_free(reactor);
    errno = error;
    return -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void rl_reactor_free(struct rl_reactor *reactor)
{
    close_fd(&reactor->epoll_fd);
    close_fd(&reactor->timer_fd);
    close_fd(&reactor->wake_fd);
}

int rl_reactor_add(struct rl_reactor *reactor, int fd, uint32_t events, uint32_t tag)
{
    struct epoll_event event = {.events = events, .data.u32 = tag};

    return epoll_ctl(reactor->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void rl_reactor_remove(struct rl_reactor *reactor, int fd)
{
    epoll_ctl(reactor->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int rl_reactor_change(struct rl_reactor *reactor, int fd, uint32_t events, uint32_t tag)
{
    struct epoll_event event = {.events = events, .data.u32 = tag};

    return epoll_ctl(reactor->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void rl_reactor_arm(struct rl_reactor *reactor, int64_t due_ns)
{
    struct itimerspec at = {0};

    /* Set too early is fine: it fires, nothing is due, and it is set anew. */
    if (reactor->armed_ns <= due_ns) {
        reactor->unarmed = false;
        return;
    }
    /* A zero time would disarm it: what is long due fires at the first nanosecond. */
    if (due_ns <= 0)
        due_ns = 1;
    at.it_value.tv_sec = due_ns / RL_NS_PER_S;
    at.it_value.tv_nsec = due_ns % RL_NS_PER_S;
    reactor->unarmed = timerfd_settime(reactor->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) != 0;
    if (!reactor->unarmed)
        reactor->armed_ns = due_ns;
}

int rl_reactor_wait(struct rl_reactor *reactor, struct epoll_event *events, int timeout_ms)
{
    return epoll_wait(reactor->epoll_fd, events, RL_REACTOR_EVENTS_MAX, timeout_ms);
}

void rl_reactor_wake(struct rl_reactor *reactor)
{
    uint64_t one = 1;

    /* It can only fail when the counter is full, and then the eventfd is readable already. */
    if (write(reactor->wake_fd, &one, sizeof one) < 0)
        return;
}
