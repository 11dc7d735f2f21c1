/* SPDX-License-Identifier: BSD-2-Clause */
/* The client of the service's benchmark: many keep-alive connections, one request in
 * flight on each. */
#ifndef REDLOCK_BENCH_SERVICE_LOAD_H
#define REDLOCK_BENCH_SERVICE_LOAD_H

#include <stddef.h>
#include <stdint.h>

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

/* Sends the request on every connection; takes all answers. In between they are served. */
void load_send(struct load *load, const char *request, size_t request_size);
void load_take(struct load *load, size_t answer_size);

/* Sends one request and returns the size of its answer, which is copied to out. */
size_t load_ask(struct load *load, const char *request, size_t request_size, char *out,
                size_t size);

#endif
