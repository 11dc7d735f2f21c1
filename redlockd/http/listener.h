/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A listening socket of the server.
 *
 * Where the limit of connections (or of descriptors) is reached, the connection that has been idle for
 * longest makes room, since its client can come back. If none is idle, the listener pauses: new
 * clients wait in the kernel's queue until a connection ends.
 */
#ifndef REDLOCKD_HTTP_LISTENER_H
#define REDLOCKD_HTTP_LISTENER_H

#include "system/loop.h"

struct http_server;
struct http_tls_context;

struct http_listener {
    struct loop_source source; /* fd -1: closed */
    struct http_server *server;
    struct http_tls_context *tls; /* NULL: plain */
    int number;
    bool is_unix;
    bool is_paused;
};

/* Owns the socket from now on, also on failure. 0, or -1 with errno. */
int http_listener_open(struct http_listener *listener, struct http_server *server, int fd,
                       int number, struct http_tls_context *tls);
/* A connection has ended: there is room again. */
void http_listener_continue(struct http_listener *listener);
void http_listener_close(struct http_listener *listener);

#endif
