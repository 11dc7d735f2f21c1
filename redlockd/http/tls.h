/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server's side of TLS. The library has the client's side only, without sockets; here
 * OpenSSL reads and writes the socket itself, which saves a copy and a buffer per connection.
 *
 * At least TLS 1.2, no renegotiation, no compression, no early data. With a client CA every
 * client must show a certificate that it signed, except where a listener leaves that open:
 * there a client that shows none has to prove itself in another way. Names in it are for the
 * access rules.
 */
#ifndef REDLOCKD_HTTP_TLS_H
#define REDLOCKD_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct http_tls_context;
struct ssl_st;

/* PEM files. */
struct http_tls_files {
    const char *cert;
    const char *key;       /* NULL: in the file of the certificate */
    const char *client_ca; /* NULL: for clients without a certificate */
    const char
        *client_crl; /* which of client_ca are revoked: a list of each authority; NULL: none */
};

/* 0 and *out, the caller's; or -1, a sentence in why, and *out untouched. */
int http_tls_context_new(const struct http_tls_files *files, char *why, size_t why_size,
                         struct http_tls_context **out);
/* Connections of `context` from now on use what `fresh` has read; `fresh` is freed. */
void http_tls_context_replace(struct http_tls_context *context, struct http_tls_context *fresh);
/* NULL is fine. Connections stay usable. */
void http_tls_context_free(struct http_tls_context *context);

/* For an accepted socket; NULL when out of memory. Freed by http_tls_free(), the socket by its
 * owner. cert_optional: a client may show no certificate; one that it shows must be right all
 * the same. */
struct ssl_st *http_tls_new(struct http_tls_context *context, int fd, bool cert_optional);
void http_tls_free(struct ssl_st *ssl);

/*
 * Does the client's certificate count now: not too old, and vouched for by the authority that
 * is trusted now, which may be another than at the handshake? False also without one.
 */
bool http_tls_peer_counts(struct ssl_st *ssl);

/* Its handshake is not over: the next bytes may cost the time of a hundred requests. */
bool http_tls_is_new(struct ssl_st *ssl);

/* Results besides a number of bytes. */
#define HTTP_AGAIN 0          /* not now: it wants to read what has not come */
#define HTTP_ENDED (-1)       /* close_notify, or the connection broke, or it is no TLS */
#define HTTP_WANTS_WRITE (-2) /* not now: the socket is full */

/* Both make the handshake first, as far as they come. */
ssize_t http_tls_read(struct ssl_st *ssl, void *bytes, size_t size);
ssize_t http_tls_write(struct ssl_st *ssl, const void *bytes, size_t size);

/* As http_tls_read() of one byte, which stays unread. */
ssize_t http_tls_peek(struct ssl_st *ssl);

/* Sends close_notify if that takes no waiting. */
void http_tls_close(struct ssl_st *ssl);

#endif
