/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helper processes: a forked child of the test that plays a server and shares some memory
 * with it. A process, not a thread, so that its memory is not counted with the library's and
 * its sockets close with it. Start helpers before the case has threads.
 */
#ifndef REDLOCK_TESTS_HELPER_H
#define REDLOCK_TESTS_HELPER_H

#include <stddef.h>
#include <sys/types.h>

/* Zeroed memory that parent and child see alike. Freed with the process. */
void *helper_memory(size_t size);

/* Runs `serve` in a child that dies with this process. Returns its pid. */
pid_t helper_start(void (*serve)(void *), void *argument);
void helper_stop(pid_t *pid);

/* In a helper: what others see it as, in /proc; its first 15 bytes. */
void helper_name(const char *name);

/* Waits until every one of them has ended, with status 0. */
void helpers_join(const pid_t *pids, int count);

/*
 * Accepts for ever; each connection gets a thread of its own that runs `serve` and closes the
 * descriptor afterwards. `number` counts connections from 1.
 */
struct helper_connection {
    int fd;
    int number;
    void *argument;
};
void helper_accept_loop(int listener, void (*serve)(struct helper_connection *),
                        void *argument);

/* Everything or -1. */
int helper_write(int fd, const void *data, size_t size);

#endif
