/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/io.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http/server_internal.h"
#include "http/tls.h"
#include "io/clock.h"

#define EVENTS_READING (EPOLLIN | EPOLLRDHUP | EPOLLET)
#define DISCARD_SIZE 4096

static void want_write(struct http_connection *connection, bool wanted)
{
    uint32_t events = wanted ? EVENTS_READING | EPOLLOUT : EVENTS_READING;

    if (connection->wants_write == wanted)
        return;
    if (loop_change(connection->server->loop, &connection->source, events) == 0) {
        connection->wants_write = wanted;
    } else if (wanted) {
        connection->is_broken = true; /* no event would ever continue it */
        http_connection_mark(connection);
    }
}

static enum http_io judge_errno(bool *ready)
{
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return HTTP_IO_BROKEN;
    *ready = false;
    return HTTP_IO_NOTHING;
}

/* *size: how much is wanted, then how much it was. */
static enum http_io receive(struct http_connection *connection, char *bytes, size_t *size)
{
    ssize_t got;

    if (connection->peer.ssl) {
        got = http_tls_read(connection->peer.ssl, bytes, *size);
        if (got == HTTP_TLS_ENDED)
            return HTTP_IO_END;
        if (got == HTTP_TLS_WANTS_WRITE)
            want_write(connection, true);
        if (got <= 0) {
            connection->readable = false;
            return HTTP_IO_NOTHING;
        }
    } else {
        do
            got = recv(connection->source.fd, bytes, *size, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return judge_errno(&connection->readable);
        if (got == 0)
            return HTTP_IO_END;
        /* A read that was not filled has emptied the socket; later bytes, and the end, are a
         * new edge, unless the end is known already. */
        if ((size_t)got < *size)
            connection->readable = false;
    }
    *size = (size_t)got;
    return HTTP_IO_SOME;
}

enum http_io http_io_read(struct http_connection *connection)
{
    size_t size;
    char *room;
    enum http_io result;

    room = http_buffer_room_to_read(&connection->server->pool, &connection->in, &size);
    if (!room)
        return HTTP_IO_BROKEN;
    result = receive(connection, room, &size);
    if (result == HTTP_IO_SOME) {
        http_buffer_commit(&connection->in, size);
        connection->read_ns = connection->server->now_ns = rl_now_ns();
    }
    return result;
}

enum http_io http_io_discard(struct http_connection *connection)
{
    char bytes[DISCARD_SIZE];
    size_t size = sizeof bytes;
    enum http_io result = receive(connection, bytes, &size);

    if (result == HTTP_IO_SOME)
        connection->lingered += (uint32_t)size;
    return result;
}

/* Bytes taken; 0: full; -1: broken. */
static ssize_t transmit(struct http_connection *connection, const char *bytes, size_t size)
{
    ssize_t sent;
    bool ready = true;

    if (connection->peer.ssl) {
        sent = http_tls_write(connection->peer.ssl, bytes, size);
        /* In the handshake it may have to read first: the next edge continues here. */
        return sent == HTTP_TLS_WANTS_WRITE ? 0 : sent;
    }
    do
        sent = send(connection->source.fd, bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    /* The client's end, noticed before its event. */
    connection->eof = connection->eof || errno == EPIPE || errno == ECONNRESET;
    return judge_errno(&ready) == HTTP_IO_NOTHING ? 0 : -1;
}

enum http_io http_io_write(struct http_connection *connection)
{
    struct http_buffer *out = &connection->out;

    while (http_buffer_size(out) > 0) {
        ssize_t sent = transmit(connection, out->bytes + out->start, http_buffer_size(out));

        if (sent < 0)
            return HTTP_IO_BROKEN;
        if (sent == 0) {
            want_write(connection, true);
            return HTTP_IO_NOTHING;
        }
        connection->sent += (uint64_t)sent;
        http_buffer_take(out, (size_t)sent);
    }
    return HTTP_IO_SOME;
}

void http_io_look_for_end(struct http_connection *connection)
{
    ssize_t got = http_tls_peek(connection->peer.ssl);

    if (got == HTTP_TLS_ENDED)
        connection->eof = true;
    if (got == HTTP_TLS_WANTS_WRITE)
        want_write(connection, true);
    if (got <= 0)
        connection->readable = false;
}

long http_io_untaken(const struct http_connection *connection)
{
    int bytes = 0;

    return ioctl(connection->source.fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

void http_io_writable(struct http_connection *connection)
{
    want_write(connection, false);
    /* A handshake that had to write wants to read now. */
    if (connection->peer.ssl)
        connection->readable = true;
}

void http_io_shut(struct http_connection *connection)
{
    if (connection->peer.ssl)
        http_tls_close(connection->peer.ssl);
    shutdown(connection->source.fd, SHUT_WR);
}
