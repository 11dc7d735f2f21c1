/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/resolve.h"
#include "io/tls.h"

#define TAG 0 /* of the socket, to the reactor: whatever wakes it, all is looked at */
#define CIPHER_CHUNK 4096

static enum channel_state fail(struct channel *c, enum channel_failure failure,
                               const char *what, const char *why)
{
    char problem[CHANNEL_PROBLEM_MAX];

    /* Both may belong to what is closed here. However long a name is, its problem has room. */
    snprintf(problem, sizeof problem, "%.120s%s%.255s", what, *what && *why ? ": " : "", why);
    channel_close(c);
    memcpy(c->problem, problem, sizeof problem);
    c->failure = failure;
    return c->state;
}

/* Level-triggered. Where epoll has no memory for that, the next turn tries again. */
static void want_write(struct channel *c, bool wanted)
{
    uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;

    if (c->wants_write != wanted && rl_reactor_change(c->reactor, c->fd, events, TAG) == 0)
        c->wants_write = wanted;
}

static void take_cipher(struct channel *c)
{
    size_t size = 1;

    while (c->tls && size > 0) {
        char *room = rl_buffer_reserve(&c->out, CIPHER_CHUNK);

        size = room ? rl_tls_output(c->tls, room, CIPHER_CHUNK) : 0;
        c->out.size += size;
    }
}

/* What cannot be sent any more is dropped: the next read finds the end, and before it what the
 * service had sent, such as a refusal of a request that it did not read to the end. */
static void flush(struct channel *c)
{
    ssize_t sent = 0;

    take_cipher(c);
    while (c->out.size > 0 && sent >= 0) {
        sent = send(c->fd, c->out.bytes + c->out.start, c->out.size, MSG_NOSIGNAL);
        if (sent > 0)
            rl_buffer_take(&c->out, (size_t)sent);
        else if (errno != EAGAIN && errno != EINTR)
            rl_buffer_clear(&c->out);
    }
    want_write(c, c->out.size > 0);
}

/* As recv() without waiting: 0 nothing now, -1 the end, and it is CLOSED. */
static ssize_t receive(struct channel *c, char *bytes, size_t size)
{
    ssize_t got;

    do
        got = recv(c->fd, bytes, size, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        return got;
    if (got < 0 && errno == EAGAIN)
        return 0;
    fail(c, CHANNEL_MAY_PASS, "", got == 0 ? "" : strerror(errno));
    return -1;
}

static enum channel_state fail_tls(struct channel *c)
{
    const char *why;
    enum redlock_reason reason = rl_tls_error(c->tls, &why);

    flush(c); /* the alert with the reason must reach the other side */
    if (reason == REDLOCK_REASON_PLAIN_PORT)
        why = "no answer of TLS (is it a port without TLS?)";
    return fail(c, CHANNEL_HOPELESS, "TLS", why);
}

static enum channel_state shake_hands(struct channel *c)
{
    char cipher[CIPHER_CHUNK];
    int done = rl_tls_handshake(c->tls);
    ssize_t got = 1;

    while (done == 0 && got > 0) {
        flush(c);
        got = receive(c, cipher, sizeof cipher);
        if (got < 0) /* it may be a service that is just being started */
            return fail(c, CHANNEL_MAY_PASS, "TLS", c->problem[0] ? c->problem : "cut off");
        if (got > 0)
            rl_tls_input(c->tls, cipher, (size_t)got);
        if (got > 0)
            done = rl_tls_handshake(c->tls);
    }
    if (done < 0)
        return fail_tls(c);
    flush(c);
    return c->state = done > 0 ? CHANNEL_OPEN : CHANNEL_HANDSHAKE;
}

/* The files are read for every connection: certificates are replaced while a lock is held. */
static enum channel_state begin_tls(struct channel *c)
{
    const struct channel_tls *files = c->tls_files;
    char why[CHANNEL_PROBLEM_MAX];

    if (rl_tls_context_new(files->ca, files->cert, files->key, why, sizeof why,
                           &c->tls_context) < 0)
        return fail(c, CHANNEL_HOPELESS, "", why);
    if (rl_tls_new(c->tls_context, files->name ? files->name : c->url->host, &c->tls) < 0)
        return fail(c, CHANNEL_HOPELESS, "TLS", "it could not be set up for this name");
    c->state = CHANNEL_HANDSHAKE;
    return shake_hands(c);
}

static enum channel_state connected(struct channel *c)
{
    want_write(c, false);
    if (c->url->tls)
        return begin_tls(c);
    return c->state = CHANNEL_OPEN;
}

/* Out of the epoll set first: a child that was forked meanwhile has a copy until it execs. */
static void close_socket(struct channel *c)
{
    rl_reactor_remove(c->reactor, c->fd);
    close(c->fd);
    c->fd = -1;
}

/* 0: under way or done. Else errno, and no socket. */
static int connect_to(struct channel *c, const struct sockaddr *address, socklen_t size)
{
    int error;

    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return errno;
    c->wants_write = true;
    if ((connect(c->fd, address, size) == 0 || errno == EINPROGRESS) &&
        rl_reactor_add(c->reactor, c->fd, EPOLLIN | EPOLLOUT, TAG) == 0)
        return 0;
    error = errno;
    close_socket(c);
    return error;
}

static enum channel_state connect_unix(struct channel *c)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int error;

    memcpy(address.sun_path, c->url->path, sizeof address.sun_path);
    error = connect_to(c, (struct sockaddr *)&address, sizeof address);
    if (error)
        return fail(c, CHANNEL_MAY_PASS, c->url->path, strerror(error));
    return c->state = CHANNEL_CONNECTING;
}

/* As redlockd has it for its own plain listeners. */
static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

    if (address->sa_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static enum channel_state refuse_to_expose(struct channel *c)
{
    char why[CHANNEL_PROBLEM_MAX];

    snprintf(
        why, sizeof why,
        "http://%.80s is another machine, and the network could read the token or the lease: "
        "use https://, or --insecure",
        c->url->host);
    return fail(c, CHANNEL_EXPOSED, "", why);
}

/* Tries the addresses of a name one after another, from c->address on. `error`: of the one
 * before it. */
static enum channel_state connect_tcp(struct channel *c, int error)
{
    char where[URL_HOST_MAX + URL_PORT_MAX];
    bool is_exposed = false;

    for (; c->address; c->address = c->address->ai_next) {
        is_exposed = c->is_secret && !c->url->tls && !is_loopback(c->address->ai_addr);
        if (is_exposed)
            continue;
        error = connect_to(c, c->address->ai_addr, c->address->ai_addrlen);
        if (error == 0)
            return c->state = CHANNEL_CONNECTING;
    }
    if (is_exposed)
        return refuse_to_expose(c);
    snprintf(where, sizeof where, "%s:%s", c->url->host, c->url->port);
    return fail(c, CHANNEL_MAY_PASS, where, strerror(error));
}

static enum channel_state check_resolved(struct channel *c)
{
    const char *why;
    int status = rl_resolve_poll(c->resolve, &c->address, &why);

    if (status == 0)
        return c->state;
    if (status > 0)
        return connect_tcp(c, EHOSTUNREACH);
    return fail(c, rl_resolve_may_pass(c->resolve) ? CHANNEL_MAY_PASS : CHANNEL_HOPELESS,
                c->url->host, why);
}

static enum channel_state check_connected(struct channel *c)
{
    struct pollfd watched = {.fd = c->fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;

    if (poll(&watched, 1, 0) <= 0)
        return c->state;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error == 0)
        return connected(c);
    if (!c->address)
        return fail(c, CHANNEL_MAY_PASS, c->url->path, strerror(error));
    close_socket(c);
    c->address = c->address->ai_next;
    return connect_tcp(c, error);
}

void channel_begin(struct channel *c, struct rl_reactor *reactor, const struct service_url *url,
                   const struct channel_tls *files, bool is_secret)
{
    *c = (struct channel){
        .url = url, .tls_files = files, .reactor = reactor, .fd = -1, .is_secret = is_secret};
    if (url->path[0])
        connect_unix(c);
    else if (rl_resolve_start(url->host, url->port, reactor->wake_fd, &c->resolve) < 0)
        fail(c, CHANNEL_MAY_PASS, url->host, strerror(errno));
    else
        c->state = CHANNEL_RESOLVING;
}

enum channel_state channel_turn(struct channel *c)
{
    if (c->state == CHANNEL_RESOLVING)
        check_resolved(c);
    if (c->state == CHANNEL_CONNECTING)
        check_connected(c);
    else if (c->state == CHANNEL_HANDSHAKE)
        shake_hands(c);
    else if (c->state == CHANNEL_OPEN)
        flush(c);
    return c->state;
}

void channel_write(struct channel *c, const char *bytes, size_t size)
{
    char *room = c->tls ? NULL : rl_buffer_reserve(&c->out, size);

    if (c->tls && rl_tls_write(c->tls, bytes, size) < 0) {
        fail_tls(c);
        return;
    }
    if (room) {
        memcpy(room, bytes, size);
        c->out.size += size;
        c->out.secret = true; /* a token, a lease id */
    } else if (!c->tls) {
        fail(c, CHANNEL_MAY_PASS, "", strerror(ENOMEM));
        return;
    }
    flush(c);
}

ssize_t channel_read(struct channel *c, char *bytes, size_t size)
{
    char cipher[CIPHER_CHUNK];
    const char *why;
    ssize_t got;

    if (c->state != CHANNEL_OPEN)
        return -1;
    if (!c->tls)
        return receive(c, bytes, size);
    for (;;) {
        got = rl_tls_read(c->tls, bytes, size);
        if (got > 0)
            return got;
        /* The only failure that is no failure of TLS: the other side has closed. */
        if (got < 0 && rl_tls_error(c->tls, &why) == REDLOCK_REASON_UNREACHABLE)
            fail(c, CHANNEL_MAY_PASS, "", "");
        else if (got < 0)
            fail_tls(c);
        if (got == 0)
            got = receive(c, cipher, sizeof cipher);
        if (got <= 0)
            return got;
        rl_tls_input(c->tls, cipher, (size_t)got);
    }
}

void channel_close(struct channel *c)
{
    if (c->reactor && c->fd >= 0)
        close_socket(c);
    rl_resolve_free(c->resolve);
    rl_tls_free(c->tls);
    rl_tls_context_free(c->tls_context);
    rl_buffer_free(&c->out);
    *c = (struct channel){.fd = -1, .url = c->url};
}
