/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server_internal.h"
#include "http/tls.h"
#include "io/clock.h"

#define ACCEPTS_PER_TURN 32

/* A client whose machine vanished must be noticed while its request waits: 15 + 3 * 5 s, and no
 * later than that after bytes that are not acknowledged. */
#define PROBE_AFTER_S 15
#define PROBE_EVERY_S 5
#define PROBES 3
#define UNACKNOWLEDGED_MS 30000

/* Failures are ignored: each of these improves a connection that works without. */
static void prepare_tcp(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof options[i].value);
}

/* 0, or -1: it cannot be served. */
static int identify(struct http_listener *listener, int fd,
                    const struct sockaddr_storage *address, struct http_peer *peer)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;

    *peer = (struct http_peer){
        .listener = listener->number, .fd = fd, .is_unix = listener->is_unix};
    if (listener->is_unix) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
            return -1;
        peer->uid = credentials.uid;
        peer->gid = credentials.gid;
    } else {
        prepare_tcp(fd);
    }
    peer->source = http_room_source(peer, address);
    if (listener->tls) {
        peer->ssl = http_tls_new(listener->tls, fd, listener->cert_optional);
        if (!peer->ssl)
            return -1;
    }
    return 0;
}

static void serve(struct http_listener *listener, int fd,
                  const struct sockaddr_storage *address)
{
    struct http_server *server = listener->server;
    struct http_connection *connection = http_server_take(server);
    struct http_peer peer;

    if (!connection) {
        close(fd);
        return;
    }
    if (identify(listener, fd, address, &peer) < 0) {
        close(fd);
        http_server_give(server, connection);
        return;
    }
    if (http_connection_open(connection, server, fd, &peer) < 0) {
        if (peer.ssl)
            http_tls_free(peer.ssl);
        close(fd);
        http_server_give(server, connection);
        return;
    }
    server->counts.accepted++;
}

static void pause_listener(struct http_listener *listener)
{
    if (loop_change(listener->server->loop, &listener->source, 0) == 0) {
        listener->is_paused = true;
        listener->paused_ns = rl_now_ns();
        loop_wake(&listener->server->part);
    }
}

static void ready(struct loop_source *source, uint32_t events)
{
    struct http_listener *listener = (struct http_listener *)(void *)source;
    struct http_server *server = listener->server;

    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        bool is_free = http_room_is_free(server, listener->number);
        /* Found before a client is let in, and closed only for one that is there. */
        struct http_connection *loser =
            is_free ? NULL : http_room_loser(server, listener->number);
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        int fd;

        if (!is_free && !loser) {
            pause_listener(listener);
            return;
        }
        fd = accept4(source->fd, (struct sockaddr *)&address, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (loser)
                http_room_evict(loser);
            serve(listener, fd, &address);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            loser = http_room_loser(server, listener->number);
            if (loser)
                http_room_evict(loser);
            else
                pause_listener(listener);
            return;
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

int http_listener_open(struct http_listener *listener, struct http_server *server, int fd,
                       int number, struct http_tls_context *tls, bool cert_optional)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int error;

    *listener = (struct http_listener){
        .source = {.ready = ready, .fd = -1},
        .server = server,
        .tls = tls,
        .cert_optional = cert_optional,
        .number = number,
    };
    if (getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
        listener->is_unix = address.ss_family == AF_UNIX;
        if (loop_add(server->loop, &listener->source, fd, EPOLLIN) == 0)
            return 0;
    }
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

void http_listener_continue(struct http_listener *listener)
{
    if (listener->is_paused &&
        loop_change(listener->server->loop, &listener->source, EPOLLIN) == 0)
        listener->is_paused = false;
}

int64_t http_listener_turn(struct http_listener *listener, int64_t now_ns)
{
    if (listener->is_paused && now_ns - listener->paused_ns >= HTTP_PAUSE_NS) {
        listener->paused_ns = now_ns;
        http_listener_continue(listener);
    }
    return listener->is_paused ? listener->paused_ns + HTTP_PAUSE_NS : RL_NEVER_NS;
}

void http_listener_close(struct http_listener *listener)
{
    if (listener->source.fd < 0)
        return;
    loop_remove(listener->server->loop, &listener->source);
    close(listener->source.fd);
    listener->source.fd = -1;
}
