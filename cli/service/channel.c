/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/trust.h"
#include "system/timer.h"

static int fail(struct channel *c, const char *what, int error)
{
    snprintf(c->problem, sizeof c->problem, "%.180s: %.60s", what, strerror(error));
    return error;
}

/* Until the socket is ready. 0, ETIMEDOUT, ECANCELED or another errno. */
static int await(struct channel *c, short events)
{
    for (;;) {
        struct pollfd watched[] = {{.fd = c->fd, .events = events},
                                   {.fd = c->cancel_fd, .events = POLLIN}};
        int64_t left_ns = c->limit_ns - timer_now_ns();
        if (left_ns <= 0)
            return ETIMEDOUT;
        int64_t left_ms = left_ns / RL_NS_PER_MS + 1;
        int ready = poll(watched, 2, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
        if (ready < 0 && errno != EINTR)
            return errno;
        if (ready > 0 && watched[1].revents)
            return ECANCELED;
        if (ready > 0 && watched[0].revents)
            return 0;
    }
}

/* ---- connecting ---- */

/* 0, or errno and no socket. */
static int connect_to(struct channel *c, const struct sockaddr *address, socklen_t size)
{
    int error = 0;
    socklen_t error_size = sizeof error;
    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return errno;
    if (connect(c->fd, address, size) == 0)
        return 0;
    error = errno;
    if (error == EINPROGRESS) {
        error = await(c, POLLOUT);
        if (error == 0 && getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &error_size) != 0)
            error = errno;
    }
    if (error) {
        close(c->fd);
        c->fd = -1;
    }
    return error;
}

static int connect_unix(struct channel *c, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int error = connect_to(c, (struct sockaddr *)&address, sizeof address);
    return error ? fail(c, path, error) : 0;
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

/* A resolver that does not answer may do so later; a name that it does not
 * know stays unknown. */
static int fail_to_resolve(struct channel *c, const char *host, int failed)
{
    c->is_hopeless = failed != EAI_AGAIN && failed != EAI_SYSTEM && failed != EAI_MEMORY;
    snprintf(c->problem, sizeof c->problem, "%.180s: %.60s", host, gai_strerror(failed));
    return EHOSTUNREACH;
}

static int refuse_to_expose(struct channel *c, const char *host)
{
    c->is_hopeless = true;
    snprintf(
        c->problem, sizeof c->problem,
        "http://%.80s is another machine, and the network could read the token or the lease: "
        "use https://, or --insecure",
        host);
    return CHANNEL_EXPOSED;
}

static int connect_tcp(struct channel *c, const struct service_url *url)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char where[URL_HOST_MAX + URL_PORT_MAX];
    int error = EHOSTUNREACH;
    snprintf(where, sizeof where, "%s:%s", url->host, url->port);
    int failed = getaddrinfo(url->host, url->port, &hints, &found);
    if (failed)
        return fail_to_resolve(c, url->host, failed);
    for (struct addrinfo *at = found; at && error && error != ECANCELED; at = at->ai_next)
        error = c->is_secret && !url->tls && !is_loopback(at->ai_addr)
                    ? CHANNEL_EXPOSED
                    : connect_to(c, at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    return error == CHANNEL_EXPOSED ? refuse_to_expose(c, url->host)
           : error                  ? fail(c, where, error)
                                    : 0;
}

/* ---- TLS ---- */

static int fail_tls(struct channel *c, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    long verified = c->ssl ? SSL_get_verify_result(c->ssl) : X509_V_OK;
    if (verified != X509_V_OK)
        reason = X509_verify_cert_error_string(verified);
    bool no_tls = ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER;
    /* A connection that was cut may belong to a service that is just being started. */
    c->is_hopeless = ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING;
    snprintf(c->problem, sizeof c->problem, "%s: %s%s", what, reason ? reason : "failed",
             no_tls ? " (is it a port without TLS?)" : "");
    ERR_clear_error();
    return EPROTO;
}

/* After a call of OpenSSL that returned `result`: 0 to call it again, or errno. */
static int await_tls(struct channel *c, int result)
{
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return await(c, POLLIN);
    case SSL_ERROR_WANT_WRITE:
        return await(c, POLLOUT);
    case SSL_ERROR_SYSCALL:
        return errno ? errno : ECONNRESET;
    default:
        return EPROTO;
    }
}

/* OpenSSL would ask on the terminal, and a process that holds a lock waits for no terminal. */
static int give_no_passphrase(char *out, int size, int is_encrypting, void *is_asked)
{
    (void)out;
    (void)size;
    (void)is_encrypting;
    *(bool *)is_asked = true;
    return -1;
}

/* NULL, or which of the files cannot be used. */
static const char *use_files(struct channel *c, const struct channel_tls *tls)
{
    SSL_CTX *context = c->ssl_context;
    const char *key = tls->key ? tls->key : tls->cert;
    bool is_protected = false;
    if (!tls->ca && rl_trust_system(context) != 0)
        return "finding CA certificates on this system (--tls-ca names others)";
    if (tls->ca && SSL_CTX_load_verify_file(context, tls->ca) != 1)
        return "TLS files";
    if (!tls->cert)
        return NULL;
    SSL_CTX_set_default_passwd_cb(context, give_no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_protected);
    if (SSL_CTX_use_certificate_chain_file(context, tls->cert) == 1 &&
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
        return NULL;
    return is_protected ? "TLS key: give one without a passphrase" : "TLS files";
}

/* The certificate must be for the host, a name or an address. */
static bool expect_host(struct channel *c, const char *host)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), host) == 1;
    return SSL_set1_host(c->ssl, host) == 1 && SSL_set_tlsext_host_name(c->ssl, host) == 1;
}

static int begin_tls(struct channel *c, const struct service_url *url,
                     const struct channel_tls *tls)
{
    const char *unusable;
    int error = 0, result;
    c->ssl_context = SSL_CTX_new(TLS_client_method());
    if (!c->ssl_context || !SSL_CTX_set_min_proto_version(c->ssl_context, TLS1_2_VERSION))
        return fail_tls(c, "TLS");
    unusable = use_files(c, tls);
    if (unusable)
        return fail_tls(c, unusable);
    SSL_CTX_set_verify(c->ssl_context, SSL_VERIFY_PEER, NULL);
    c->ssl = SSL_new(c->ssl_context);
    if (!c->ssl || !expect_host(c, tls->name ? tls->name : url->host) ||
        SSL_set_fd(c->ssl, c->fd) != 1)
        return fail_tls(c, "TLS");
    while (error == 0 && (result = SSL_connect(c->ssl)) != 1)
        error = await_tls(c, result);
    return error == EPROTO ? fail_tls(c, "TLS") : error ? fail(c, url->host, error) : 0;
}

/* ---- bytes ---- */

int channel_open(struct channel *c, const struct service_url *url,
                 const struct channel_tls *tls)
{
    c->fd = -1;
    c->ssl = NULL;
    c->ssl_context = NULL;
    c->is_hopeless = false;
    c->problem[0] = '\0';
    int error = url->path[0] ? connect_unix(c, url->path) : connect_tcp(c, url);
    if (error == 0 && url->tls)
        error = begin_tls(c, url, tls);
    if (error)
        channel_close(c);
    return error;
}

int channel_write(struct channel *c, const char *bytes, size_t size)
{
    int error = 0;
    while (size > 0 && error == 0) {
        ssize_t sent = c->ssl ? SSL_write(c->ssl, bytes, (int)size)
                              : send(c->fd, bytes, size, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (c->ssl) {
            error = await_tls(c, (int)sent);
        } else if (errno == EAGAIN) {
            error = await(c, POLLOUT);
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    return error ? fail(c, "writing the request", error) : 0;
}

ssize_t channel_read(struct channel *c, char *bytes, size_t size)
{
    for (;;) {
        int error = 0;
        ssize_t got = c->ssl ? SSL_read(c->ssl, bytes, (int)size) : recv(c->fd, bytes, size, 0);
        if (got > 0 || (got == 0 && !c->ssl))
            return got;
        if (c->ssl && SSL_get_error(c->ssl, (int)got) == SSL_ERROR_ZERO_RETURN)
            return 0;
        if (c->ssl)
            error = await_tls(c, (int)got);
        else if (errno == EAGAIN)
            error = await(c, POLLIN);
        else if (errno != EINTR)
            error = errno;
        if (error) {
            errno = fail(c, "reading the answer", error);
            return -1;
        }
    }
}

void channel_close(struct channel *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ssl_context);
    c->ssl = NULL;
    c->ssl_context = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}
