/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static atomic_ullong allocations;
static atomic_ullong calls;

struct counts counts_now(void)
{
    struct rusage usage = {.ru_nvcsw = 0};
    getrusage(RUSAGE_SELF, &usage);
    return (struct counts){atomic_load_explicit(&allocations, memory_order_relaxed),
                           atomic_load_explicit(&calls, memory_order_relaxed),
                           (uint64_t)usage.ru_nvcsw};
}

#if !SANITIZED
static void count(atomic_ullong *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}
#endif

#if defined(__GLIBC__) && !SANITIZED

/* The real ones, by the names that glibc keeps for programs that replace them. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    count(&allocations);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count(&allocations);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
    count(&allocations);
    return __libc_realloc(memory, size);
}

bool counts_see_allocations(void)
{
    return true;
}

#else

bool counts_see_allocations(void)
{
    return false;
}

#endif

#if !SANITIZED

/* Calls the next definition behind this one. Two threads that look it up find the same. */
#define COUNTED(type, name, parameters, arguments)                                             \
    type name parameters                                                                       \
    {                                                                                          \
        static type(*_Atomic next) parameters;                                                 \
        type(*real) parameters = atomic_load_explicit(&next, memory_order_relaxed);            \
        if (!real) {                                                                           \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                         \
            atomic_store_explicit(&next, real, memory_order_relaxed);                          \
        }                                                                                      \
        count(&calls);                                                                         \
        return real arguments;                                                                 \
    }

COUNTED(ssize_t, send, (int fd, const void *data, size_t size, int flags),
        (fd, data, size, flags))
COUNTED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
        (fd, message, flags))
COUNTED(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
COUNTED(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
COUNTED(ssize_t, readv, (int fd, const struct iovec *parts, int part_count),
        (fd, parts, part_count))
COUNTED(ssize_t, writev, (int fd, const struct iovec *parts, int part_count),
        (fd, parts, part_count))
COUNTED(int, poll, (struct pollfd * fds, nfds_t fd_count, int timeout_ms),
        (fds, fd_count, timeout_ms))
COUNTED(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
COUNTED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
COUNTED(int, epoll_wait, (int fd, struct epoll_event *events, int count_max, int timeout_ms),
        (fd, events, count_max, timeout_ms))
COUNTED(int, epoll_ctl, (int fd, int op, int other, struct epoll_event *event),
        (fd, op, other, event))
COUNTED(int, timerfd_settime,
        (int fd, int flags, const struct itimerspec *at, struct itimerspec *old),
        (fd, flags, at, old))
COUNTED(ssize_t, getrandom, (void *data, size_t size, unsigned flags), (data, size, flags))

#endif
