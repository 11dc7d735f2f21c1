/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of the test itself, inside a process whose calls are counted. They are all
 * ppoll() with an argument that no library would pass, so that the tracer can distinguish them
 * apart: waiting for something, and marking where the counting begins and ends.
 */
#ifndef REDLOCK_TESTS_COST_OWN_H
#define REDLOCK_TESTS_COST_OWN_H

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Passed as the size of a signal mask that is absent: the kernel does not look at it. */
enum own_call { OWN_WAIT = 0xc0570, OWN_BEGIN, OWN_END };

/* As poll(), in microseconds. */
static inline int own_call(enum own_call kind, struct pollfd *fds, unsigned count, long wait_us)
{
    struct timespec wait = {wait_us / 1000000, wait_us % 1000000 * 1000};
    return (int)syscall(SYS_ppoll, fds, count, &wait, NULL, (long)kind);
}

#endif
