/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/reactor.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "core/time.h"

#define UNARMED_WAIT_MS 10

int rl_reactor_init(struct rl_reactor *reactor)
{
    int error;

    *reactor = (struct rl_reactor){-1, -1, -1, -1, INT64_MAX, false};
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
    close_fd(&reactor->rest_fd);
}

static int add(int epoll_fd, int fd, uint32_t events, uint32_t tag)
{
    struct epoll_event event = {.events = events, .data.u32 = tag};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int rl_reactor_add(struct rl_reactor *reactor, int fd, uint32_t events, uint32_t tag)
{
    return add(reactor->epoll_fd, fd, events, tag);
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

int rl_reactor_patience_ms(const struct rl_reactor *reactor, int timeout_ms)
{
    /* Without its timer no event comes for a deadline: we look at the clock instead. */
    if (reactor->unarmed && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
        return UNARMED_WAIT_MS;
    return timeout_ms;
}

int rl_reactor_wait(struct rl_reactor *reactor, struct epoll_event *events, int timeout_ms)
{
    int count = epoll_wait(reactor->epoll_fd, events, RL_REACTOR_EVENTS_MAX, timeout_ms);

    return count < 0 ? 0 : count;
}

void rl_reactor_fired(struct rl_reactor *reactor)
{
    reactor->armed_ns = INT64_MAX;
}

void rl_reactor_wake(struct rl_reactor *reactor)
{
    uint64_t one = 1;

    /* It can only fail when it is already as awake as can be. */
    if (write(reactor->wake_fd, &one, sizeof one) < 0)
        return;
}

void rl_reactor_prepare_rest(struct rl_reactor *reactor)
{
    /* Without it nobody rests, and that is all. */
    reactor->rest_fd = epoll_create1(EPOLL_CLOEXEC);
    if (reactor->rest_fd >= 0 &&
        (add(reactor->rest_fd, reactor->timer_fd, EPOLLIN | EPOLLET, RL_REACTOR_TIMER) < 0 ||
         add(reactor->rest_fd, reactor->wake_fd, EPOLLIN | EPOLLET, RL_REACTOR_WAKE) < 0))
        close_fd(&reactor->rest_fd);
}

bool rl_reactor_may_rest(struct rl_reactor *reactor)
{
    /* A timer that was set anew since it fired is not among them. */
    return reactor->rest_fd >= 0 && !reactor->unarmed &&
           rl_reactor_rest(reactor, 0) != RL_REST_TIMER;
}

enum rl_rest rl_reactor_rest(struct rl_reactor *reactor, int timeout_ms)
{
    struct epoll_event events[2];
    int count = epoll_wait(reactor->rest_fd, events, 2, timeout_ms);

    if (count == 0)
        return RL_REST_OVER;
    /* What went wrong is for somebody else to find out. */
    for (int i = 0; i < count; i++)
        if (events[i].data.u32 == RL_REACTOR_TIMER)
            return RL_REST_TIMER;
    return RL_REST_WOKEN;
}
