/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A listening socket of the server.
 *
 * Where the limit of connections (or of descriptors) is reached, another connection ends for
 * the new one (http/room.h). If none can, the listener pauses: new clients wait in the kernel's
 * queue until a connection ends. It tries again every HTTP_PAUSE_NS as well: descriptors also
 * come back from elsewhere, and the last connection may have ended before the pause.
 */
#ifndef REDLOCKD_HTTP_LISTENER_H
#define REDLOCKD_HTTP_LISTENER_H

#include "system/loop.h"

#define HTTP_PAUSE_NS (100 * RL_NS_PER_MS)

struct http_server;
struct http_tls_context;

struct http_listener {
    struct loop_source source; /* fd -1: closed */
    struct http_server *server;
    struct http_tls_context *tls; /* NULL: plain */
    bool cert_optional;           /* TLS: a client may show no certificate */
    int number;
    bool is_unix;
    bool is_paused;
    int64_t paused_ns; /* since when, if it is */
};

/* Owns the socket from now on, also on failure. 0, or -1 with errno. */
int http_listener_open(struct http_listener *listener, struct http_server *server, int fd,
                       int number, struct http_tls_context *tls, bool cert_optional);
/* There may be room again. */
void http_listener_continue(struct http_listener *listener);
/* Continues if the pause is over; else when it will be. RL_NEVER_NS: not paused. */
int64_t http_listener_turn(struct http_listener *listener, int64_t now_ns);
void http_listener_close(struct http_listener *listener);

#endif
