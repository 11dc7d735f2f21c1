/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a connection: its socket, plain or with TLS, and its two buffers. */
#ifndef REDLOCKD_HTTP_IO_H
#define REDLOCKD_HTTP_IO_H

#include "http/connection.h"

enum http_io { HTTP_IO_SOME, HTTP_IO_NOTHING, HTTP_IO_END, HTTP_IO_BROKEN };

/* Reads once into connection->in. NOTHING: not now; `readable` says so. END: the client has
 * closed its sending side. */
enum http_io http_io_read(struct http_connection *connection);

/* Reads and throws away. */
enum http_io http_io_discard(struct http_connection *connection);

/* Sends what connection->out has. SOME: all of it. NOTHING: the socket is full;
 * it is watched. */
enum http_io http_io_write(struct http_connection *connection);

/* TLS: looks whether the client has said goodbye, unless other bytes are unread before that;
 * `eof` says so. */
void http_io_look_for_end(struct http_connection *connection);

/* As http_untaken(). */
long http_io_untaken(const struct http_connection *connection);

/* The socket has room again. */
void http_io_writable(struct http_connection *connection);

/* Closes the sending side. */
void http_io_shut(struct http_connection *connection);

#endif
