/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/socket.h>

#include "engine/receive.h"
#include "io/clock.h"
#include "io/conn.h"

#define CIPHER_CHUNK 16384
#define CIPHER_WAITING_MAX (256 * 1024)

/*
 * One iteration serves every node: a flood from one of them is continued in the next iteration.
 */
#define READS_PER_ITERATION 4

void rl_conn_want_write(struct rl_conn *conn, bool wanted)
{
    uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;

    if (conn->wants_write == wanted)
        return;
    /* Remembered as it really is: otherwise a socket that is ready would wake us for ever. */
    if (rl_reactor_change(conn->reactor, conn->fd, events, rl_conn_tag(conn)) == 0)
        conn->wants_write = wanted;
}

/* Bytes taken by the socket, 0 when it is full, -1 when the connection has failed. */
static ssize_t send_some(struct rl_conn *conn, const char *bytes, size_t size, int64_t now_ns)
{
    ssize_t sent;

    do
        sent = send(conn->fd, bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        rl_conn_want_write(conn, true);
        return 0;
    }
    /* What the server sent before it closed is still to be read, and the read finds the end. */
    if (errno == EPIPE || errno == ECONNRESET)
        return 0;
    rl_conn_fail_errno(conn, errno, now_ns);
    return -1;
}

int rl_conn_send_cipher(struct rl_conn *conn, int64_t now_ns)
{
    for (;;) {
        char *room;
        size_t size = 0;
        ssize_t sent;

        if (conn->cipher.size < CIPHER_WAITING_MAX) {
            room = rl_buffer_reserve(&conn->cipher, CIPHER_CHUNK);
            if (!room) {
                rl_conn_fail_errno(conn, ENOMEM, now_ns);
                return -1;
            }
            size = rl_tls_output(conn->tls, room, CIPHER_CHUNK);
            conn->cipher.size += size;
        }
        if (conn->cipher.size == 0)
            return 0;
        sent =
            send_some(conn, conn->cipher.bytes + conn->cipher.start, conn->cipher.size, now_ns);
        if (sent <= 0)
            return (int)sent;
        rl_buffer_take(&conn->cipher, (size_t)sent);
    }
}

void rl_conn_flush(struct rl_conn *conn, int64_t now_ns)
{
    struct rl_session *session = conn->link.session;
    const char *bytes;
    size_t size;

    if (conn->wants_write || (conn->state != RL_CONN_HANDSHAKE && conn->state != RL_CONN_OPEN))
        return;
    if (conn->tls) {
        size = conn->state == RL_CONN_OPEN ? rl_session_output(session, &bytes) : 0;
        if (size > 0 && conn->cipher.size < CIPHER_WAITING_MAX) {
            if (rl_tls_write(conn->tls, bytes, size) < 0) {
                rl_conn_fail_tls(conn, now_ns);
                return;
            }
            rl_session_sent(session, size, now_ns);
        }
        rl_conn_send_cipher(conn, now_ns);
        return;
    }
    while ((size = rl_session_output(session, &bytes)) > 0) {
        ssize_t sent = send_some(conn, bytes, size, now_ns);

        if (sent <= 0)
            return;
        rl_session_sent(session, (size_t)sent, now_ns);
    }
}

/* Bytes read, 0 when there are none now, -1 when the connection has ended. */
static ssize_t receive_some(struct rl_conn *conn, char *bytes, size_t size, int64_t *now_ns)
{
    ssize_t got;

    do
        got = recv(conn->fd, bytes, size, 0);
    while (got < 0 && errno == EINTR);
    /* After the read: no reply may be dated earlier than it came (A3). */
    *now_ns = rl_now_ns();
    if (got > 0) {
        conn->has_received = true;
        return got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < 0)
        rl_conn_fail_errno(conn, errno, *now_ns);
    else
        rl_conn_fail_silent(conn, REDLOCK_VOTE_UNREACHABLE, REDLOCK_REASON_UNREACHABLE,
                            "the server closed the connection", *now_ns);
    return -1;
}

/* -1: the session refused the bytes, and the connection is over. */
static int pass_on(struct rl_conn *conn, size_t size, int64_t now_ns)
{
    struct rl_session *session = conn->link.session;
    int status = rl_link_received(&conn->link, size, now_ns);
    bool refused = status == 0 ? session->login_refused
                               : session->failure_reason == REDLOCK_REASON_WRONG_PASSWORD ||
                                     session->failure_reason == REDLOCK_REASON_PASSWORD_NEEDED;

    if (conn->secret && refused)
        rl_secret_refused(conn->secret, now_ns);
    if (status == 0)
        return 0;
    rl_conn_fail(conn, session->failure, session->failure_reason, session->failure_text,
                 now_ns);
    return -1;
}

/* An alert, or a handshake: what a TLS server sends to a client of plain text. */
static bool is_tls_record(const char *bytes, size_t size)
{
    return size >= 2 && (bytes[0] == 0x15 || bytes[0] == 0x16) && bytes[1] == 0x03;
}

static void receive_plain(struct rl_conn *conn)
{
    struct rl_session *session = conn->link.session;

    for (int i = 0; i < READS_PER_ITERATION; i++) {
        char *room;
        size_t size = rl_session_room(session, &room);
        bool first = !conn->has_received;
        int64_t now_ns;
        ssize_t got = receive_some(conn, room, size, &now_ns);

        if (got > 0 && first && is_tls_record(room, (size_t)got)) {
            rl_conn_fail(conn, REDLOCK_VOTE_PROTO, REDLOCK_REASON_TLS_PORT,
                         "the node speaks TLS here: use rediss://", now_ns);
            return;
        }
        if (got <= 0 || pass_on(conn, (size_t)got, now_ns) < 0 || (size_t)got < size)
            return;
    }
}

static int decrypt(struct rl_conn *conn, int64_t now_ns)
{
    struct rl_session *session = conn->link.session;

    for (;;) {
        char *room;
        size_t size = rl_session_room(session, &room);
        int got = rl_tls_read(conn->tls, room, size);

        if (got == 0)
            return 0;
        if (got < 0) {
            rl_conn_fail_tls(conn, now_ns);
            return -1;
        }
        if (pass_on(conn, (size_t)got, now_ns) < 0)
            return -1;
    }
}

static void receive_encrypted(struct rl_conn *conn)
{
    char cipher[CIPHER_CHUNK];

    for (int i = 0; i < READS_PER_ITERATION; i++) {
        int64_t now_ns;
        ssize_t got = receive_some(conn, cipher, sizeof cipher, &now_ns);

        if (got <= 0)
            return;
        if (rl_tls_input(conn->tls, cipher, (size_t)got) < 0) {
            rl_conn_fail_tls(conn, now_ns);
            return;
        }
        if (conn->state == RL_CONN_HANDSHAKE) {
            rl_conn_handshake(conn, now_ns);
            if (conn->state != RL_CONN_OPEN)
                return;
        }
        if (decrypt(conn, now_ns) < 0 || rl_conn_send_cipher(conn, now_ns) < 0 ||
            (size_t)got < sizeof cipher)
            return;
    }
}

void rl_conn_ready(struct rl_conn *conn, uint32_t events, int64_t now_ns)
{
    if (conn->state == RL_CONN_CONNECTING) {
        rl_conn_check_connected(conn, now_ns);
        return;
    }
    if (conn->state != RL_CONN_HANDSHAKE && conn->state != RL_CONN_OPEN)
        return;
    if (events & EPOLLOUT) {
        rl_conn_want_write(conn, false);
        rl_conn_flush(conn, now_ns);
    }
    if (conn->fd < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    if (conn->tls)
        receive_encrypted(conn);
    else
        receive_plain(conn);
}
