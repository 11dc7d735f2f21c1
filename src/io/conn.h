/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to one node: resolve, connect, TLS, bytes both ways, and coming back after a
 * failure. Everything is non-blocking; the owner of the session is told what happens.
 *
 *     WAITING -> RESOLVING -> CONNECTING -> (HANDSHAKE) -> OPEN
 *        ^___________|____________|______________|___________|  failure, with backoff
 */
#ifndef RL_IO_CONN_H
#define RL_IO_CONN_H

#include "engine/link.h"
#include "io/reactor.h"
#include "io/resolve.h"
#include "io/tls.h"
#include "protocol/session.h"
#include "protocol/url.h"

enum rl_conn_state {
    RL_CONN_WAITING,
    RL_CONN_RESOLVING,
    RL_CONN_CONNECTING,
    RL_CONN_HANDSHAKE,
    RL_CONN_OPEN,
};

struct rl_conn {
    struct rl_link link; /* what is not about the socket; its first fields are the caller's */
    struct rl_reactor *reactor;
    const struct rl_url *url;
    struct rl_tls_context *tls_context; /* NULL: plain */
    const char *tls_name;               /* the name to verify */

    enum rl_conn_state state;
    int fd; /* -1: none */
    bool wants_write;
    bool heard;                     /* something came back on this connection */
    struct rl_resolve *resolve;     /* in WAITING: a lookup that outlasted its attempt */
    const struct addrinfo *address; /* the one being tried; more may follow */
    struct rl_tls *tls;
    struct rl_buffer cipher; /* TLS bytes that the socket did not take yet */
};

/* WAITING, due at once, with nothing open. The fields above `state` are set by the caller. */
void rl_conn_init(struct rl_conn *conn);

/* Does what time (rl_link_due_ns()) or a resolver has made due. */
void rl_conn_tick(struct rl_conn *conn, int64_t now_ns);

/* The socket is ready for what epoll said. */
void rl_conn_ready(struct rl_conn *conn, uint32_t events, int64_t now_ns);

/* Sends what the session has. */
void rl_conn_flush(struct rl_conn *conn, int64_t now_ns);

/* What the reactor calls it. */
uint32_t rl_conn_tag(const struct rl_conn *conn);

/* Closes everything; the session is not told. */
void rl_conn_close(struct rl_conn *conn);

#endif
