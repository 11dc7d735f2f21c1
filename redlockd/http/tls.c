/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exposed.h"

/* `ctx` is replaced by a reload; connections keep the one that they began with. */
struct http_tls_context {
    SSL_CTX *ctx; /* its app data is this context */
    uintptr_t
        /* counts reloads, from 1: what the app data of a connection was verified by */
        generation;
};

/* Without this, OpenSSL prompts for the passphrase of a key on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *data)
{
    (void)buffer, (void)size, (void)writing, (void)data;
    return -1;
}

/* A file that others can write may hold their key, or the authority that vouches for them. */
static int check_file(const char *what, const char *file, char *why, size_t why_size)
{
    struct stat info;

    if (stat(file, &info) != 0) {
        snprintf(why, why_size, "cannot read the TLS %s file %s: %s", what, file,
                 strerror(errno));
        return -1;
    }
    if (rl_file_is_exposed(&info)) {
        snprintf(why, why_size,
                 "others can write to the TLS %s file %s: give it to this user or to root, and "
                 "chmod go-w",
                 what, file);
        return -1;
    }
    return 0;
}

static int load_key(SSL_CTX *ctx, const char *cert_file, const char *key_file, char *why,
                    size_t why_size)
{
    if (check_file("certificate", cert_file, why, why_size) < 0 ||
        check_file("key", key_file, why, why_size) < 0)
        return -1;
    if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1) {
        snprintf(why, why_size, "there is no usable PEM in the TLS certificate file %s",
                 cert_file);
        return -1;
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1) {
        snprintf(why, why_size,
                 "the TLS key file %s has no key without a passphrase that belongs to the "
                 "certificate in %s",
                 key_file, cert_file);
        return -1;
    }
    return 0;
}

static int load_client_ca(SSL_CTX *ctx, const char *file, char *why, size_t why_size)
{
    STACK_OF(X509_NAME) * names;

    if (!file)
        return 0;
    if (check_file("client CA", file, why, why_size) < 0)
        return -1;
    names = SSL_load_client_CA_file(file);
    if (!names || SSL_CTX_load_verify_file(ctx, file) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        snprintf(why, why_size, "there is no usable PEM in the TLS client CA file %s", file);
        return -1;
    }
    SSL_CTX_set_client_CA_list(ctx, names); /* owns them now */
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return 0;
}

/* From here on a certificate counts only if there is a list of its authority, and it is
 * not on it. */
static int load_client_crl(SSL_CTX *ctx, const char *file, char *why, size_t why_size)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509_LOOKUP *lookup;

    if (!file)
        return 0;
    if (check_file("client CRL", file, why, why_size) < 0)
        return -1;
    lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (!lookup || X509_load_crl_file(lookup, file, X509_FILETYPE_PEM) < 1) {
        snprintf(why, why_size, "there is no usable PEM in the TLS client CRL file %s", file);
        return -1;
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return 0;
}

/* NULL with a sentence. */
static SSL_CTX *load(const struct http_tls_files *files, char *why, size_t why_size)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE |
                                 SSL_OP_CLEANSE_PLAINTEXT); /* as base/pooled.h */
    /* A ticket would carry a client's certificate past a reload that took its right away. */
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ctx, 0);
    /* A record may leave in parts and from a buffer that moved; idle connections keep none. */
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    if (load_key(ctx, files->cert, files->key ? files->key : files->cert, why, why_size) < 0 ||
        load_client_ca(ctx, files->client_ca, why, why_size) < 0 ||
        load_client_crl(ctx, files->client_crl, why, why_size) < 0) {
        SSL_CTX_free(ctx);
        ctx = NULL;
    }
    ERR_clear_error();
    return ctx;
}

int http_tls_context_new(const struct http_tls_files *files, char *why, size_t why_size,
                         struct http_tls_context **out)
{
    struct http_tls_context *context = malloc(sizeof *context);

    if (!context) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    context->ctx = load(files, why, why_size);
    if (!context->ctx) {
        free(context);
        return -1;
    }
    context->generation = 1;
    SSL_CTX_set_app_data(context->ctx, context);
    *out = context;
    return 0;
}

void http_tls_context_replace(struct http_tls_context *context, struct http_tls_context *fresh)
{
    SSL_CTX_free(context->ctx); /* connections hold it for as long as they need it */
    context->ctx = fresh->ctx;
    context->generation++;
    SSL_CTX_set_app_data(context->ctx, context);
    free(fresh);
}

void http_tls_context_free(struct http_tls_context *context)
{
    if (context) {
        SSL_CTX_free(context->ctx);
        free(context);
    }
}

struct ssl_st *http_tls_new(struct http_tls_context *context, int fd, bool cert_optional)
{
    SSL *ssl = SSL_new(context->ctx);

    if (!ssl || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_app_data(ssl, (void *)context->generation);
    if (cert_optional)
        SSL_set_verify(ssl, SSL_get_verify_mode(ssl) & ~SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_set_accept_state(ssl);
    return ssl;
}

void http_tls_free(struct ssl_st *ssl)
{
    SSL_free(ssl);
}

/* As the handshake did, by what is trusted now. */
static bool verify_again(SSL *ssl, SSL_CTX *ctx, X509 *certificate)
{
    X509_STORE_CTX *look = X509_STORE_CTX_new();
    bool is_good = look &&
                   X509_STORE_CTX_init(look, SSL_CTX_get_cert_store(ctx), certificate,
                                       SSL_get_peer_cert_chain(ssl)) == 1 &&
                   X509_STORE_CTX_set_default(look, "ssl_client") == 1 &&
                   X509_verify_cert(look) == 1;

    X509_STORE_CTX_free(look);
    ERR_clear_error();
    return is_good;
}

bool http_tls_peer_counts(struct ssl_st *ssl)
{
    const struct http_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    X509 *certificate = SSL_get0_peer_certificate(ssl);

    if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK ||
        X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0)
        return false;
    if ((uintptr_t)SSL_get_app_data(ssl) == context->generation)
        return true;
    if (SSL_CTX_get_verify_mode(context->ctx) == SSL_VERIFY_NONE ||
        !verify_again(ssl, context->ctx, certificate))
        return false;
    SSL_set_app_data(ssl, (void *)context->generation);
    return true;
}

bool http_tls_is_new(struct ssl_st *ssl)
{
    return !SSL_is_init_finished(ssl);
}

/* Leaves the thread's error queue empty, for its next user. */
static ssize_t judge(SSL *ssl, int result)
{
    int error = SSL_get_error(ssl, result);

    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ)
        return HTTP_AGAIN;
    return error == SSL_ERROR_WANT_WRITE ? HTTP_WANTS_WRITE : HTTP_ENDED;
}

ssize_t http_tls_read(struct ssl_st *ssl, void *bytes, size_t size)
{
    int result;

    ERR_clear_error();
    result = SSL_read(ssl, bytes, size > INT_MAX ? INT_MAX : (int)size);
    return result > 0 ? result : judge(ssl, result);
}

ssize_t http_tls_write(struct ssl_st *ssl, const void *bytes, size_t size)
{
    int result;

    ERR_clear_error();
    result = SSL_write(ssl, bytes, size > INT_MAX ? INT_MAX : (int)size);
    return result > 0 ? result : judge(ssl, result);
}

ssize_t http_tls_peek(struct ssl_st *ssl)
{
    char byte;
    int result;

    ERR_clear_error();
    result = SSL_peek(ssl, &byte, 1);
    return result > 0 ? result : judge(ssl, result);
}

void http_tls_close(struct ssl_st *ssl)
{
    if (SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
    ERR_clear_error();
}
