/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/transport.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http/server.h"

static bool is_not_now(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

ssize_t http_transport_read(const struct http_peer *peer, void *bytes, size_t size)
{
    ssize_t got;

    if (peer->ssl)
        return http_tls_read(peer->ssl, bytes, size);
    do
        got = recv(peer->fd, bytes, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && is_not_now())
        return HTTP_AGAIN;
    return got > 0 ? got : HTTP_ENDED;
}

ssize_t http_transport_write(const struct http_peer *peer, const void *bytes, size_t size)
{
    ssize_t sent;

    if (peer->ssl) {
        sent = http_tls_write(peer->ssl, bytes, size);
        /* In the handshake it may have to read first: the next edge continues here. */
        return sent == HTTP_ENDED ? HTTP_BROKEN : sent < 0 ? HTTP_AGAIN : sent;
    }
    do
        sent = send(peer->fd, bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && !is_not_now())
        return errno == EPIPE || errno == ECONNRESET ? HTTP_ENDED : HTTP_BROKEN;
    return sent > 0 ? sent : HTTP_AGAIN;
}

void http_transport_shut(const struct http_peer *peer)
{
    if (peer->ssl)
        http_tls_close(peer->ssl);
    shutdown(peer->fd, SHUT_WR);
}

long http_transport_untaken(const struct http_peer *peer)
{
    int bytes = 0;

    return ioctl(peer->fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}
