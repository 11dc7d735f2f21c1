/* SPDX-License-Identifier: BSD-2-Clause */
/* Making a connection, losing it, and making it again. conn_stream.c moves the bytes. */
#include "io/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void rl_conn_init(struct rl_conn *conn)
{
    conn->state = RL_CONN_WAITING;
    conn->fd = -1;
    conn->link.retry_at_ns = 0;
}

uint32_t rl_conn_tag(const struct rl_conn *conn)
{
    switch (conn->link.role) {
    case RL_LINK_NODE:
        break;
    case RL_LINK_SUBSCRIBER:
        return RL_REACTOR_SUBSCRIBER + conn->link.node;
    case RL_LINK_ELECTOR:
        return RL_REACTOR_ELECTOR + conn->link.node * RL_ELECTORS_MAX + conn->link.elector;
    }
    return conn->link.node;
}

/*
 * Out of the epoll set first: closing alone does not take it out while a forked child still has
 * a copy, and a socket without an owner would wake the driver for ever.
 */
static void close_socket(struct rl_conn *conn)
{
    if (conn->fd < 0)
        return;
    rl_reactor_remove(conn->reactor, conn->fd);
    close(conn->fd);
    conn->fd = -1;
}

void rl_conn_close(struct rl_conn *conn)
{
    close_socket(conn);
    conn->wants_write = false;
    rl_tls_free(conn->tls);
    conn->tls = NULL;
    rl_resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->address = NULL;
    conn->has_received = false;
    rl_buffer_free(&conn->cipher);
    conn->state = RL_CONN_WAITING;
}

void rl_conn_fail(struct rl_conn *conn, enum redlock_vote vote, enum redlock_reason reason,
                  const char *text, int64_t now_ns)
{
    char kept[REDLOCK_TEXT_MAX];

    /* The text may belong to what is closed here. */
    snprintf(kept, sizeof kept, "%s", text);
    rl_conn_close(conn);
    rl_link_failed(&conn->link, vote, reason, kept, now_ns);
}

void rl_conn_fail_silent(struct rl_conn *conn, enum redlock_vote vote,
                         enum redlock_reason reason, const char *text, int64_t now_ns)
{
    const char *hint = "";
    char words[REDLOCK_TEXT_MAX];

    if (!conn->has_received && !conn->url->is_unix && conn->state >= RL_CONN_HANDSHAKE) {
        hint = conn->tls_context ? ": is it a port without TLS? use redis://"
                                 : ": is it a TLS port? use rediss://";
        reason = conn->tls_context ? REDLOCK_REASON_PLAIN_PORT : REDLOCK_REASON_TLS_PORT;
    }
    snprintf(words, sizeof words, "%s%s", text, hint);
    rl_conn_fail(conn, vote, reason, words, now_ns);
}

static enum redlock_reason reason_of(const struct rl_conn *conn, int error)
{
    switch (error) {
    case ECONNREFUSED:
        return REDLOCK_REASON_REFUSED;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
        return REDLOCK_REASON_RESOURCES;
    /* the server takes no connection from its backlog; or no thread for a lookup */
    case EAGAIN:
        return conn->url->is_unix ? REDLOCK_REASON_SILENT : REDLOCK_REASON_RESOURCES;
    default:
        return REDLOCK_REASON_UNREACHABLE;
    }
}

void rl_conn_fail_errno(struct rl_conn *conn, int error, int64_t now_ns)
{
    rl_conn_fail_silent(conn,
                        error == ECONNREFUSED ? REDLOCK_VOTE_REFUSED : REDLOCK_VOTE_UNREACHABLE,
                        reason_of(conn, error), strerror(error), now_ns);
}

void rl_conn_fail_tls(struct rl_conn *conn, int64_t now_ns)
{
    const char *text;
    enum redlock_reason reason = rl_tls_error(conn->tls, &text);

    rl_conn_fail(conn, REDLOCK_VOTE_UNREACHABLE, reason, text, now_ns);
}

static void transport_up(struct rl_conn *conn, int64_t now_ns)
{
    conn->state = RL_CONN_OPEN;
    rl_link_connected(&conn->link, now_ns);
    rl_conn_flush(conn, now_ns);
}

static void socket_up(struct rl_conn *conn, int64_t now_ns)
{
    struct tcp_info info;
    socklen_t size = sizeof info;

    rl_conn_want_write(conn, false);
    /* The kernel has measured the way to the node while it connected. */
    if (conn->link.role == RL_LINK_NODE && !conn->url->is_unix &&
        getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
        rl_node_note_delay(conn->link.engine, conn->link.node, (int64_t)info.tcpi_rtt * 1000);
    if (!conn->tls_context) {
        transport_up(conn, now_ns);
        return;
    }
    if (rl_tls_new(conn->tls_context,
                   conn->tls_name  ? conn->tls_name
                   : conn->host[0] ? conn->host
                                   : conn->url->host,
                   &conn->tls) < 0) {
        rl_conn_fail(conn, REDLOCK_VOTE_UNREACHABLE, REDLOCK_REASON_TLS,
                     "TLS could not be set up", now_ns);
        return;
    }
    conn->state = RL_CONN_HANDSHAKE;
    rl_conn_handshake(conn, now_ns);
}

void rl_conn_handshake(struct rl_conn *conn, int64_t now_ns)
{
    int status = rl_tls_handshake(conn->tls);

    /* Also on failure: the TLS alert with the cause must reach the peer. */
    if (rl_conn_send_cipher(conn, now_ns) < 0)
        return;
    if (status < 0)
        rl_conn_fail_tls(conn, now_ns);
    else if (status > 0)
        transport_up(conn, now_ns);
}

/* Starts connecting to one address. False: failed at once, errno has the cause. */
static bool connect_to(struct rl_conn *conn, int family, const struct sockaddr *address,
                       socklen_t size)
{
    int one = 1;
    int error;

    conn->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->fd < 0)
        return false;
    if (family != AF_UNIX) {
        setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(conn->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    }
    if (connect(conn->fd, address, size) == 0 || errno == EINPROGRESS) {
        conn->wants_write = true;
        if (rl_reactor_add(conn->reactor, conn->fd, EPOLLIN | EPOLLOUT, rl_conn_tag(conn)) == 0)
            return true;
    }

    error = errno;
    close_socket(conn);
    errno = error;
    return false;
}

/* Tries the addresses of a name one after another, from conn->address on. */
static void try_addresses(struct rl_conn *conn, int64_t now_ns)
{
    int error = EADDRNOTAVAIL;

    conn->state = RL_CONN_CONNECTING;
    for (; conn->address; conn->address = conn->address->ai_next) {
        if (connect_to(conn, conn->address->ai_family, conn->address->ai_addr,
                       conn->address->ai_addrlen))
            return;
        error = errno;
    }
    rl_conn_fail_errno(conn, error, now_ns);
}

static void check_resolved(struct rl_conn *conn, int64_t now_ns)
{
    const char *error;
    int status = rl_resolve_poll(conn->resolve, &conn->address, &error);

    if (status > 0)
        try_addresses(conn, now_ns);
    else if (status < 0)
        rl_conn_fail(conn, REDLOCK_VOTE_UNREACHABLE, REDLOCK_REASON_UNRESOLVED, error, now_ns);
}

static void look_up(struct rl_conn *conn, int64_t now_ns)
{
    const char *host = conn->host[0] ? conn->host : conn->url->host;
    const char *port = conn->host[0] ? conn->port : conn->url->port;

    conn->state = RL_CONN_RESOLVING;
    if (!conn->resolve &&
        rl_resolve_start(host, port, conn->reactor->wake_fd, &conn->resolve) < 0)
        rl_conn_fail_errno(conn, errno, now_ns);
    else
        check_resolved(conn, now_ns);
}

/* Goes on as soon as it is known which server is meant: at once, but for elected votes. */
static void elect(struct rl_conn *conn, int64_t now_ns)
{
    const char *owner = rl_link_choose(&conn->link);
    const char *colon = owner ? strrchr(owner, ':') : NULL;
    size_t size;

    if (!owner)
        return;
    if (colon) {
        size = (size_t)(colon - owner);
        if (owner[0] == '[') { /* an IPv6 address, in brackets */
            owner++;
            size -= 2;
        }
        /* A lookup that outlasted its attempt may be one of another server's name. */
        if (strncmp(conn->host, owner, size) != 0 || conn->host[size] != '\0') {
            rl_resolve_free(conn->resolve);
            conn->resolve = NULL;
        }
        memcpy(conn->host, owner, size);
        conn->host[size] = '\0';
        snprintf(conn->port, sizeof conn->port, "%s", colon + 1);
    }
    look_up(conn, now_ns);
}

static void start(struct rl_conn *conn, int64_t now_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    rl_link_connecting(&conn->link, now_ns);
    /* No memory for the greeting: a connection without it would be silent for ever. */
    if (conn->link.session->state == RL_SESSION_DOWN) {
        rl_conn_fail(conn, REDLOCK_VOTE_ERROR, REDLOCK_REASON_RESOURCES, "out of memory",
                     now_ns);
        return;
    }
    if (conn->secret)
        rl_secret_want(conn->secret, now_ns);
    if (conn->url->is_unix) {
        conn->state = RL_CONN_CONNECTING;
        memcpy(address.sun_path, conn->url->path, sizeof address.sun_path);
        if (!connect_to(conn, AF_UNIX, (struct sockaddr *)&address, sizeof address))
            rl_conn_fail_errno(conn, errno, now_ns);
        return;
    }
    conn->state = RL_CONN_ELECTING;
    elect(conn, now_ns);
}

void rl_conn_log_in(struct rl_conn *conn, int64_t now_ns)
{
    struct rl_session *session = conn->link.session;
    const struct rl_secret *secret = conn->secret;

    if (conn->link.state == RL_LINK_DOWN)
        return;
    if (session->awaits_password
            ? !rl_secret_is_settled(secret)
            : session->state != RL_SESSION_UP || conn->link.role == RL_LINK_SUBSCRIBER ||
                  conn->login_version == secret->version)
        return;
    if (!secret->text[0]) {
        rl_conn_fail(conn, REDLOCK_VOTE_AUTH, REDLOCK_REASON_PASSWORD_NEEDED, secret->failure,
                     now_ns);
        return;
    }
    if (rl_link_log_in(&conn->link, now_ns) == 0)
        conn->login_version = secret->version;
    else if (session->state !=
             RL_SESSION_UP) /* else it is full, and the next iteration tries again */
        rl_conn_fail(conn, REDLOCK_VOTE_ERROR, REDLOCK_REASON_RESOURCES, "out of memory",
                     now_ns);
}

static void give_up_connecting(struct rl_conn *conn, int64_t now_ns)
{
    static const struct {
        enum redlock_reason reason;
        const char *text;
    } what[] = {
        [RL_CONN_ELECTING] = {REDLOCK_REASON_NO_TERM,
                              "no majority of the sentinels, or nodes of the cluster, named a "
                              "master"},
        [RL_CONN_RESOLVING] = {REDLOCK_REASON_UNRESOLVED, "the name was not resolved"},
        [RL_CONN_CONNECTING] = {REDLOCK_REASON_UNREACHABLE, "no TCP connection"},
        [RL_CONN_HANDSHAKE] = {REDLOCK_REASON_SILENT, "no TLS handshake"},
    };
    struct rl_resolve *lookup = conn->state == RL_CONN_RESOLVING ? conn->resolve : NULL;
    char text[REDLOCK_TEXT_MAX];

    snprintf(text, sizeof text, "%s within %lld ms", what[conn->state].text,
             (long long)(conn->link.connect_timeout_ns / RL_NS_PER_MS));
    /*
     * A lookup cannot be interrupted, only abandoned, and each has a thread: the next attempt
     * waits for the same one, so that no more than one is under way for a connection.
     */
    if (conn->state == RL_CONN_RESOLVING)
        conn->resolve = NULL;
    rl_conn_fail_silent(conn, REDLOCK_VOTE_SILENT, what[conn->state].reason, text, now_ns);
    conn->resolve = lookup;
}

void rl_conn_tick(struct rl_conn *conn, int64_t now_ns)
{
    char text[REDLOCK_TEXT_MAX];

    if (conn->state == RL_CONN_ELECTING)
        elect(conn, now_ns);
    else if (conn->state == RL_CONN_RESOLVING)
        check_resolved(conn, now_ns);
    if (now_ns < rl_link_due_ns(&conn->link))
        return;
    if (rl_link_is_deposed(&conn->link) && conn->state != RL_CONN_WAITING) {
        rl_conn_fail(conn, REDLOCK_VOTE_UNREACHABLE, REDLOCK_REASON_NO_TERM,
                     "its electors have named another master, or others than before decide",
                     now_ns);
    } else if (conn->state == RL_CONN_WAITING) {
        start(conn, now_ns);
    } else if (conn->state == RL_CONN_OPEN) {
        snprintf(text, sizeof text, "no answer for %lld ms",
                 (long long)(conn->link.engine->stall_ns / RL_NS_PER_MS));
        rl_conn_fail(conn, REDLOCK_VOTE_SILENT, REDLOCK_REASON_SILENT, text, now_ns);
    } else {
        give_up_connecting(conn, now_ns);
    }
}

void rl_conn_check_connected(struct rl_conn *conn, int64_t now_ns)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error == 0) {
        socket_up(conn, now_ns);
        return;
    }
    if (!conn->address || !conn->address->ai_next) {
        rl_conn_fail_errno(conn, error, now_ns);
        return;
    }
    close_socket(conn);
    conn->address = conn->address->ai_next;
    try_addresses(conn, now_ns);
}
