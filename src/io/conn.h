/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to one node: resolve, connect, TLS, bytes both ways, and coming back after a
 * failure. Everything is non-blocking; the owner of the session learns what happens.
 *
 *     WAITING -> (ELECTING) -> RESOLVING -> CONNECTING -> (HANDSHAKE) -> OPEN
 *        ^___________|_____________|____________|______________|___________|  failure: backoff
 *
 * ELECTING: the electors of the node have not named the server yet.
 */
#ifndef RL_IO_CONN_H
#define RL_IO_CONN_H

#include "engine/link.h"
#include "io/reactor.h"
#include "io/resolve.h"
#include "io/secret.h"
#include "io/tls.h"
#include "protocol/session.h"
#include "protocol/url.h"

enum rl_conn_state {
    RL_CONN_WAITING,
    RL_CONN_ELECTING,
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
    const char *tls_name;               /* the name to verify; NULL: the host connected to */
    struct rl_secret *secret;           /* to log in with, if it changes; NULL: it does not */

    /* Of the server that electors have named; else those of the url. */
    char host[REDLOCK_ADDRESS_MAX];
    char port[6];

    enum rl_conn_state state;
    int fd; /* -1: none */
    bool wants_write;
    bool has_received;              /* something came back on this connection */
    struct rl_resolve *resolve;     /* in WAITING: a lookup that outlasted its attempt */
    const struct addrinfo *address; /* the one being tried; more may follow */
    struct rl_tls *tls;
    struct rl_buffer cipher; /* TLS bytes that the socket did not take yet */
    uint32_t login_version;  /* of the secret that it has logged in with */
};

/* WAITING, due at once, with nothing open. The fields above `state` are set by the caller. */
void rl_conn_init(struct rl_conn *conn);

/* Does what time (rl_link_due_ns()) or a resolver has made due. */
void rl_conn_tick(struct rl_conn *conn, int64_t now_ns);

/*
 * Logs in as soon as the secret is known, and again when that has changed. Not a subscriber: in
 * RESP2 it may not, and when the server ends it, the next one has the new secret.
 */
void rl_conn_log_in(struct rl_conn *conn, int64_t now_ns);

/* The socket is ready for the events that epoll returned. */
void rl_conn_ready(struct rl_conn *conn, uint32_t events, int64_t now_ns);

/* Sends what the session has. */
void rl_conn_flush(struct rl_conn *conn, int64_t now_ns);

/* What the reactor calls it. */
uint32_t rl_conn_tag(const struct rl_conn *conn);

/* Closes everything; the session does not learn of it. */
void rl_conn_close(struct rl_conn *conn);

/* ---- between conn.c (the life of a connection) and conn_stream.c (its bytes) ---- */

/* The connection is over; the session learns of it and a new try is planned. */
void rl_conn_fail(struct rl_conn *conn, enum redlock_vote vote, enum redlock_reason reason,
                  const char *text, int64_t now_ns);
/*
 * The same; if nothing ever came back, the port may be of the other sort, with or without TLS.
 */
void rl_conn_fail_silent(struct rl_conn *conn, enum redlock_vote vote,
                         enum redlock_reason reason, const char *text, int64_t now_ns);
void rl_conn_fail_errno(struct rl_conn *conn, int error, int64_t now_ns);
void rl_conn_fail_tls(struct rl_conn *conn, int64_t now_ns);
void rl_conn_handshake(struct rl_conn *conn, int64_t now_ns);
/* The result of a connect that was under way. */
void rl_conn_check_connected(struct rl_conn *conn, int64_t now_ns);

void rl_conn_want_write(struct rl_conn *conn, bool wanted);
/* Moves TLS output to the socket. -1: the connection has failed. */
int rl_conn_send_cipher(struct rl_conn *conn, int64_t now_ns);

#endif
