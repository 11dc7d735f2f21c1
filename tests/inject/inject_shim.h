/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the n-th allocation or system call of the library or the daemon fail, and counts them.
 * The linker sends the calls of a test program here (redlock_inject() of CMake); nothing
 * happens to them unless a failure is armed, and the test's own are made while it is suspended.
 */
#ifndef REDLOCK_TESTS_INJECT_SHIM_H
#define REDLOCK_TESTS_INJECT_SHIM_H

#include <stdbool.h>

enum inject_call {
    INJECT_NOTHING,
    INJECT_MEMORY, /* malloc, calloc, realloc, strdup */
    INJECT_SOCKET,
    INJECT_CONNECT,
    INJECT_ACCEPT,
    INJECT_GETSOCKOPT,
    INJECT_SEND,
    INJECT_RECV,
    INJECT_EPOLL_CREATE,
    INJECT_EPOLL_CTL,
    INJECT_EPOLL_WAIT,
    INJECT_TIMERFD_CREATE,
    INJECT_TIMERFD_SETTIME,
    INJECT_EVENTFD,
    INJECT_GETRANDOM,
    INJECT_THREAD, /* pthread_create */
    INJECT_PAUSE,  /* from the nth look at the clock on it is `error` milliseconds later */
};

/* Instead of an errno: the call does its work on one byte only, or sees the end
 * of the stream. */
enum { INJECT_SHORT = -1, INJECT_EOF = -2 };

/* From now on the nth such call fails with `error`, and all after it if `lasting`; 0: none. */
void inject_arm(enum inject_call call, int nth, int error, bool lasting);
/* How many such calls there were since. */
int inject_disarm(void);

/* Between these two nothing fails and nothing is counted. */
void inject_suspend(void);
void inject_resume(void);

/* How often the library has gone to wait for something so far. */
int inject_waits(void);

/* Did it come to the nth call since it was armed? */
bool inject_fired(void);

#endif
