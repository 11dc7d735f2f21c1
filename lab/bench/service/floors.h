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
#include <stdint.h>
#include <sys/types.h>

/* Forked and listening when they return; ended with SIGKILL by the caller, or with it. */
pid_t floors_echo(const char *path, const char *answer, size_t answer_size);
pid_t floors_http(const char *path, const char *body, size_t body_size);

/* The client of the service's benchmark: many keep-alive connections, one request in
 * flight on each. */

#define LOAD_CONNECTIONS_MAX 256

struct load {
    int epoll_fd;
    unsigned count;
    int fds[LOAD_CONNECTIONS_MAX];
    size_t missing[LOAD_CONNECTIONS_MAX]; /* bytes of the answer that have not come */
};

/* Connects `count` times to the unix socket at path. Ends the process on
 * failure, also below. */
void load_open(struct load *load, const char *path, unsigned count);
void load_close(struct load *load);

/* Sends the request on every connection again and again for duration_ns; every answer has
 * answer_size bytes. The number of answers. All are in when it returns. */
uint64_t load_run(struct load *load, const char *request, size_t request_size,
                  size_t answer_size, int64_t duration_ns);

/* Sends one request and returns the size of its answer, which is copied to out. */
size_t load_exchange(struct load *load, const char *request, size_t request_size, char *out,
                     size_t size);

#endif
