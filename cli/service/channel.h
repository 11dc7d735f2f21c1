/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to a service: a unix socket, TCP or TLS. No call waits for anything, not even
 * for the look-up of a name: the reactor wakes the caller, which calls channel_turn() then.
 *
 *     CLOSED -> RESOLVING -> CONNECTING -> HANDSHAKE -> OPEN
 *        ^__________|____________|_____________|_________|  failure: `problem` has the cause
 */
#ifndef CLI_SERVICE_CHANNEL_H
#define CLI_SERVICE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "io/reactor.h"
#include "service/url.h"

#define CHANNEL_PROBLEM_MAX 384

/* Certificates, as in redlock.conf(5); each may be NULL. */
struct channel_tls {
    const char *ca, *cert, *key, *name;
};

enum channel_state {
    CHANNEL_CLOSED,
    CHANNEL_RESOLVING,
    CHANNEL_CONNECTING,
    CHANNEL_HANDSHAKE,
    CHANNEL_OPEN,
};

enum channel_failure {
    CHANNEL_MAY_PASS, /* another try may help */
    CHANNEL_HOPELESS, /* it fails however often it is tried */
    CHANNEL_EXPOSED,  /* others on the way could read what would be sent: nothing was */
};

/* Zeroed, it is closed. */
struct channel {
    const struct service_url *url;
    const struct channel_tls *tls_files;
    struct rl_reactor *reactor;
    enum channel_state state;
    int fd;                         /* -1: none; of a CLOSED channel undefined */
    struct rl_resolve *resolve;     /* NULL: a unix socket, or none yet */
    const struct addrinfo *address; /* of TCP: the one that is tried; more may follow */
    struct rl_tls_context *tls_context;
    struct rl_tls *tls;   /* NULL: plain, or not yet */
    struct rl_buffer out; /* for the socket; with TLS, ciphertext */
    bool wants_write;     /* the reactor waits for room in the socket, too */
    bool is_secret;       /* without TLS, only this machine is connected to */
    enum channel_failure failure;
    char problem[CHANNEL_PROBLEM_MAX]; /* of a failure; empty: the other side has closed */
};

/* Begins to connect. The url, the files and the reactor must outlive it. */
void channel_begin(struct channel *c, struct rl_reactor *reactor, const struct service_url *url,
                   const struct channel_tls *files, bool is_secret);

/* Carries on with connecting and sending. The state: CLOSED is a failure. */
enum channel_state channel_turn(struct channel *c);

/* Of an OPEN channel: sends as much as the socket takes, keeps the rest. */
void channel_write(struct channel *c, const char *bytes, size_t size);

/* How many bytes came; 0: none now; -1: it has ended, and is CLOSED. */
ssize_t channel_read(struct channel *c, char *bytes, size_t size);

void channel_close(struct channel *c);

#endif
