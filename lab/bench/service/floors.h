/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The servers of the service's benchmark, each a process of its own on a unix socket:
 *     E0  an epoll loop that reads and writes back as many bytes as the answer has,
 *         without a look
 *     E1  the HTTP layer of redlockd, whose handler answers at once
 */
#ifndef REDLOCK_BENCH_SERVICE_FLOORS_H
#define REDLOCK_BENCH_SERVICE_FLOORS_H

#include <stddef.h>
#include <sys/types.h>

/* Forked and listening when they return; ended with SIGKILL by the caller, or with it. */
pid_t floors_echo(const char *path, const char *answer, size_t answer_size);
pid_t floors_http(const char *path, const char *body, size_t body_size);

#endif
