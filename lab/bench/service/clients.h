/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callers of an HTTP server: each has one keep-alive connection and one request in flight, and
 * repeats a cycle of a few requests. The same code asks redlockd, its floor and etcd.
 */
#ifndef REDLOCK_BENCH_SERVICE_CLIENTS_H
#define REDLOCK_BENCH_SERVICE_CLIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/latency.h"

#define CLIENTS_MAX 64

struct http_client {
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
    size_t answer_size; /* of every answer, which is not looked at; 0: they are taken */
    /* The request of this step; its size. */
    size_t (*write)(struct http_client *caller, unsigned step, char *out, size_t size);
    /* Its answer, terminated. Ends the process when it is not the one that was expected. */
    void (*take)(struct http_client *caller, unsigned step, int status, const char *body);
};

struct clients {
    int epoll_fd;
    unsigned count;
    struct http_client caller[CLIENTS_MAX];
};

struct clients_result {
    uint64_t cycles;
    double seconds;
    struct latency first; /* the first request of each cycle */
    struct latency cycle;
};

/* address: the path of a unix socket, or 127.0.0.1:PORT. Failures end the
 * process, also below. */
int clients_connect(const char *address);
int clients_try(const char *address); /* -1: refused, or there is nothing */
void clients_open(struct clients *callers, const char *address, unsigned count);
void clients_close(struct clients *callers);

/* Adds to the result. No request is in flight when it returns. */
void clients_run(struct clients *callers, const struct cycle *cycle, int64_t duration_ns,
                 struct clients_result *result);

/* The whole answer, of a blocking connection; its status. */
int clients_exchange(int fd, const char *request, size_t size, char *body, size_t body_size);

#endif
