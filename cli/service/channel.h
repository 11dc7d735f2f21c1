/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to a service, for one question: a unix socket, TCP or TLS. Every call waits
 * for as long as the limit says, or until the caller's descriptor becomes readable, and for
 * nothing else; only the look-up of a host name may take longer.
 */
#ifndef CLI_SERVICE_CHANNEL_H
#define CLI_SERVICE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/url.h"

#define CHANNEL_PROBLEM_MAX 256

struct ssl_st;
struct ssl_ctx_st;

/* Certificates, as in redlock.conf(5); each may be NULL. */
struct channel_tls {
    const char *ca, *cert, *key, *name;
};

struct channel {
    int fd; /* -1: closed */
    struct ssl_st *ssl;
    struct ssl_ctx_st *ssl_context;
    int64_t limit_ns; /* as timer_now_ns() */
    int cancel_fd;    /* readable: give up (ECANCELED); -1: never */
    bool is_secret;   /* without TLS, only this machine is connected to (CHANNEL_EXPOSED) */
    bool is_hopeless; /* of a call that failed: it fails however often it is tried */
    char problem[CHANNEL_PROBLEM_MAX]; /* of the same */
};

/* Instead of errno: others on the way could read what is sent. */
#define CHANNEL_EXPOSED (-1)

/* Limit, cancel_fd and is_secret are set by the caller. 0, or errno with the problem. */
int channel_open(struct channel *c, const struct service_url *url,
                 const struct channel_tls *tls);

/* All of it. 0, or errno. */
int channel_write(struct channel *c, const char *bytes, size_t size);

/* How many bytes came; 0: the other side has closed; -1 with errno. */
ssize_t channel_read(struct channel *c, char *bytes, size_t size);

void channel_close(struct channel *c);

#endif
