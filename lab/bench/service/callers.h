/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callers of an HTTP server: each has one keep-alive connection and one request in flight, and
 * repeats a cycle of a few requests. The same code asks redlockd, its floor and etcd.
 */
#ifndef REDLOCK_BENCH_SERVICE_CALLERS_H
#define REDLOCK_BENCH_SERVICE_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#include "samples.h"

#define CALLERS_MAX 64
#define CALLER_STEPS_MAX 3

struct caller {
    int fd;
    unsigned index;
    unsigned serial;  /* of all callers of the process: lease ids are never used twice */
    unsigned step;    /* of the cycle: which request is in flight */
    uint64_t number;  /* of its cycles */
    int64_t sent_ns;  /* the request in flight */
    int64_t began_ns; /* the first request of the cycle */
    size_t got;       /* bytes of the answer */
    char bytes[4096];
    char words[2][256]; /* what a cycle keeps from one answer for a later request */
};

struct cycle {
    const char *name;
    unsigned steps;
    /* The request of this step; its size. */
    size_t (*write)(struct caller *caller, unsigned step, char *out, size_t size);
    /* Its answer, terminated. Ends the process when it is not the one that was expected. */
    void (*take)(struct caller *caller, unsigned step, int status, const char *body);
};

struct callers {
    int epoll_fd;
    unsigned count;
    struct caller caller[CALLERS_MAX];
};

struct callers_result {
    uint64_t cycles;
    double seconds;
    struct samples first_us; /* the first request of each cycle */
    struct samples cycle_us;
};

/* address: the path of a unix socket, or 127.0.0.1:PORT. Failures end the
 * process, also below. */
int callers_connect(const char *address);
void callers_open(struct callers *callers, const char *address, unsigned count);
void callers_close(struct callers *callers);

/* Adds to the result. No request is in flight when it returns. */
void callers_run(struct callers *callers, const struct cycle *cycle, int64_t duration_ns,
                 struct callers_result *result);

/* The whole answer, of a blocking connection; its status. */
int callers_ask(int fd, const char *request, size_t size, char *body, size_t body_size);

#endif
