/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject_shim.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "src/base/time.h"

/* Atomic: the library's I/O thread makes calls while the test arms and disarms. */
static _Atomic int armed_call;
static _Atomic int armed_nth;
static _Atomic int armed_error;
static _Atomic bool armed_lasting;
static _Atomic int seen;
static _Atomic bool fired;
static _Atomic bool suspended;
static _Atomic int waits;
static _Atomic int64_t paused_ns;

void inject_arm(enum inject_call call, int nth, int error, bool lasting)
{
    armed_call = INJECT_NOTHING;
    seen = 0;
    fired = false;
    suspended = false;
    paused_ns = 0;
    armed_nth = nth;
    armed_error = error;
    armed_lasting = lasting;
    armed_call = (int)call;
}

int inject_disarm(void)
{
    armed_call = INJECT_NOTHING;
    paused_ns = 0;
    return seen;
}

int inject_waits(void)
{
    return waits;
}

void inject_suspend(void)
{
    suspended = true;
}

void inject_resume(void)
{
    suspended = false;
}

bool inject_fired(void)
{
    return fired;
}

/* 0: let it pass. */
static int failure(enum inject_call call)
{
    int count;

    if (armed_call != (int)call || suspended)
        return 0;
    count = ++seen;
    if (count < armed_nth || (count > armed_nth && !armed_lasting))
        return 0;
    fired = true;
    return armed_error;
}

/* True: the call has failed, and errno says how. */
static bool fails(enum inject_call call)
{
    int error = failure(call);

    if (error <= 0)
        return false;
    errno = error;
    return true;
}

/* Declares the real function and the one that takes its place. */
#define WRAP(type, name, parameters)                                                           \
    type __real_##name parameters;                                                             \
    type __wrap_##name parameters;                                                             \
    type __wrap_##name parameters

WRAP(void *, malloc, (size_t size))
{
    return fails(INJECT_MEMORY) ? NULL : __real_malloc(size);
}

WRAP(void *, calloc, (size_t count, size_t size))
{
    return fails(INJECT_MEMORY) ? NULL : __real_calloc(count, size);
}

WRAP(void *, realloc, (void *old, size_t size))
{
    return fails(INJECT_MEMORY) ? NULL : __real_realloc(old, size);
}

WRAP(char *, strdup, (const char *text))
{
    return fails(INJECT_MEMORY) ? NULL : __real_strdup(text);
}

WRAP(int, socket, (int family, int type, int protocol))
{
    return fails(INJECT_SOCKET) ? -1 : __real_socket(family, type, protocol);
}

WRAP(int, connect, (int fd, const struct sockaddr *address, socklen_t size))
{
    return fails(INJECT_CONNECT) ? -1 : __real_connect(fd, address, size);
}

WRAP(int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags))
{
    return fails(INJECT_ACCEPT) ? -1 : __real_accept4(fd, address, size, flags);
}

WRAP(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size))
{
    return fails(INJECT_GETSOCKOPT) ? -1 : __real_getsockopt(fd, level, name, value, size);
}

WRAP(ssize_t, send, (int fd, const void *bytes, size_t size, int flags))
{
    int error = failure(INJECT_SEND);

    if (error > 0) {
        errno = error;
        return -1;
    }
    return __real_send(fd, bytes, error == INJECT_SHORT && size > 1 ? 1 : size, flags);
}

WRAP(ssize_t, recv, (int fd, void *bytes, size_t size, int flags))
{
    int error = failure(INJECT_RECV);

    if (error > 0) {
        errno = error;
        return -1;
    }
    if (error == INJECT_EOF)
        return 0;
    return __real_recv(fd, bytes, error == INJECT_SHORT && size > 1 ? 1 : size, flags);
}

WRAP(int, epoll_create1, (int flags))
{
    return fails(INJECT_EPOLL_CREATE) ? -1 : __real_epoll_create1(flags);
}

WRAP(int, epoll_ctl, (int epoll, int op, int fd, struct epoll_event *event))
{
    return fails(INJECT_EPOLL_CTL) ? -1 : __real_epoll_ctl(epoll, op, fd, event);
}

WRAP(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout))
{
    waits++;
    return fails(INJECT_EPOLL_WAIT) ? -1 : __real_epoll_wait(epoll, events, most, timeout);
}

WRAP(int, timerfd_create, (int clock, int flags))
{
    return fails(INJECT_TIMERFD_CREATE) ? -1 : __real_timerfd_create(clock, flags);
}

WRAP(int, timerfd_settime,
     (int fd, int flags, const struct itimerspec *value, struct itimerspec *old))
{
    struct itimerspec real = *value;
    int64_t ns = value->it_value.tv_sec * RL_NS_PER_S + value->it_value.tv_nsec;

    /* The kernel does not know of our pause. */
    if ((flags & TFD_TIMER_ABSTIME) && ns > paused_ns) {
        real.it_value.tv_sec = (time_t)((ns - paused_ns) / RL_NS_PER_S);
        real.it_value.tv_nsec = (long)((ns - paused_ns) % RL_NS_PER_S);
    }
    return fails(INJECT_TIMERFD_SETTIME) ? -1 : __real_timerfd_settime(fd, flags, &real, old);
}

WRAP(int, eventfd, (unsigned count, int flags))
{
    return fails(INJECT_EVENTFD) ? -1 : __real_eventfd(count, flags);
}

WRAP(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags))
{
    int error = failure(INJECT_GETRANDOM);

    if (error > 0) {
        errno = error;
        return -1;
    }
    return __real_getrandom(bytes, error == INJECT_SHORT && size > 1 ? 1 : size, flags);
}

WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data))
{
    int error = failure(INJECT_THREAD);

    return error > 0 ? error : __real_pthread_create(thread, attributes, run, data);
}

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *out))
{
    int pause_ms = failure(INJECT_PAUSE);
    int result = __real_clock_gettime(clock, out);
    int64_t ns;

    if (pause_ms > 0)
        paused_ns = pause_ms * RL_NS_PER_MS;
    ns = out->tv_nsec + paused_ns;
    out->tv_sec += (time_t)(ns / RL_NS_PER_S);
    out->tv_nsec = (long)(ns % RL_NS_PER_S);
    return result;
}
