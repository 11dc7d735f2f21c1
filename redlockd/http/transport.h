/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a connection on their way through its socket, plain or with TLS. */
#ifndef REDLOCKD_HTTP_TRANSPORT_H
#define REDLOCKD_HTTP_TRANSPORT_H

#include <stddef.h>
#include <sys/types.h>

#include "http/tls.h"

struct http_peer;

/* A write, besides what tls.h has: it failed, and nothing is known of the client. */
#define HTTP_BROKEN (-3)

/*
 * Once. HTTP_ENDED: the client has closed its sending side, or the connection broke. A plain
 * read that fills less than `size` has emptied the socket: later bytes, and the end, are a new
 * edge of epoll.
 */
ssize_t http_transport_read(const struct http_peer *peer, void *bytes, size_t size);
/* Once. HTTP_AGAIN: the socket is full. */
ssize_t http_transport_write(const struct http_peer *peer, const void *bytes, size_t size);

/* Closes the sending side. */
void http_transport_shut(const struct http_peer *peer);

/* As http_untaken(). */
long http_transport_untaken(const struct http_peer *peer);

#endif
