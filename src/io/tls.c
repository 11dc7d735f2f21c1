/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exposed.h"
#include "io/tls_explain.h"
#include "io/trust.h"

#define WHY_SIZE 192
#define NAME_SIZE 256

/*
 * A program may call exit() while the I/O thread is in here: OpenSSL must not take itself down
 * under it. An OpenSSL inside of a package leaves the system's openssl.cnf alone, which may
 * name engines that were built for the system's OpenSSL, and would crash in another one.
 */
#ifdef REDLOCK_OPENSSL_INSIDE
#define INIT_OPTIONS (OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG)
#else
#define INIT_OPTIONS OPENSSL_INIT_NO_ATEXIT
#endif

struct rl_tls_context {
    SSL_CTX *ctx;
};

/*
 * One connection. OpenSSL reads and writes two memory buffers, never a socket: `in` holds
 * ciphertext that came from the peer, `out` what has to be sent to it. Both belong to ssl.
 * Once broken it stays broken, and `reason` and `why` keep the first.
 */
struct rl_tls {
    SSL *ssl;
    BIO *in;
    BIO *out;
    bool broken;
    char name[NAME_SIZE]; /* verified; without zone and trailing dot */
    enum redlock_reason reason;
    char why[WHY_SIZE];
};

/* ---- context ------------------------------------------------------------------------- */

/* Without this, OpenSSL prompts for the passphrase of a key on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *data)
{
    (void)buffer, (void)size, (void)writing;
    if (data)
        *(bool *)data = true;
    return -1;
}

/* About a PEM file that OpenSSL would not take. */
static int explain_file(const char *what, const char *file, char *why, size_t why_size)
{
    FILE *readable = fopen(file, "re");

    if (!readable) {
        snprintf(why, why_size, "cannot read the %s %s: %s", what, file, strerror(errno));
        return -1;
    }
    fclose(readable);
    snprintf(why, why_size, "there is no usable PEM in the %s %s", what, file);
    return -1;
}

static int load_key(SSL_CTX *ctx, const char *cert_file, const char *key_file, char *why,
                    size_t why_size)
{
    bool wants_passphrase = false;
    unsigned long code;
    int loaded;

    SSL_CTX_set_default_passwd_cb_userdata(ctx, &wants_passphrase);
    loaded = SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    if (loaded == 1)
        return 0;
    code = ERR_peek_last_error();
    if (wants_passphrase) {
        snprintf(why, why_size,
                 "the TLS key in %s is protected by a passphrase: give one without", key_file);
        return -1;
    }
    if (ERR_GET_LIB(code) == ERR_LIB_X509 &&
        ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
        snprintf(why, why_size, "the TLS key in %s does not belong to the certificate in %s",
                 key_file, cert_file);
        return -1;
    }
    return explain_file("TLS key file", key_file, why, why_size);
}

/* A file that others can write may hold their key, or the authority that vouches for them. */
static int check_file(const char *what, const char *file, char *why, size_t why_size)
{
    struct stat info;

    if (!file || stat(file, &info) != 0 || !rl_file_is_exposed(&info))
        return 0;
    snprintf(why, why_size,
             "others can write to the %s %s: give it to this user or to root, and chmod go-w",
             what, file);
    return -1;
}

static int load_files(SSL_CTX *ctx, const char *ca_file, const char *cert_file,
                      const char *key_file, char *why, size_t why_size)
{
    if (check_file("TLS CA file", ca_file, why, why_size) != 0 ||
        check_file("TLS certificate file", cert_file, why, why_size) != 0 ||
        check_file("TLS key file", key_file, why, why_size) != 0)
        return -1;
    if (ca_file && SSL_CTX_load_verify_file(ctx, ca_file) != 1)
        return explain_file("TLS CA file", ca_file, why, why_size);
    if (!ca_file && rl_trust_system(ctx) != 0) {
        snprintf(why, why_size,
                 "this system has no store of CA certificates: set the TLS CA file");
        return -1;
    }
    if (!cert_file) {
        if (key_file) {
            snprintf(why, why_size, "a TLS key file needs the TLS certificate file with it");
            return -1;
        }
        return 0;
    }
    if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
        return explain_file("TLS certificate file", cert_file, why, why_size);
    return load_key(ctx, cert_file, key_file ? key_file : cert_file, why, why_size);
}

int rl_tls_context_new(const char *ca_file, const char *cert_file, const char *key_file,
                       char *why, size_t why_size, struct rl_tls_context **out)
{
    struct rl_tls_context *context;
    SSL_CTX *ctx;

    /* Only the first initialisation of the process can set these. */
    OPENSSL_init_ssl(INIT_OPTIONS, NULL);
    ERR_clear_error();

    context = malloc(sizeof *context);
    ctx = SSL_CTX_new(TLS_client_method());
    if (!context || !ctx) {
        snprintf(why, why_size, "out of memory");
        goto cleanup;
    }
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        snprintf(why, why_size, "this OpenSSL has no TLS 1.2");
        goto cleanup;
    }
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    if (load_files(ctx, ca_file, cert_file, key_file, why, why_size) != 0)
        goto cleanup;
    context->ctx = ctx;
    *out = context;
    return 0;

cleanup:
    ERR_clear_error();
    SSL_CTX_free(ctx);
    free(context);
    return -1;
}

void rl_tls_context_free(struct rl_tls_context *context)
{
    if (context) {
        SSL_CTX_free(context->ctx);
        free(context);
    }
}

/* ---- connection ---------------------------------------------------------------------- */

/* Judges nothing: OpenSSL's own verdict stands. It only remembers why it was a bad one, while
 * the certificate is still at hand. */
static int on_verify(int good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct rl_tls *tls = SSL_get_app_data(ssl);

    if (!good && tls->why[0] == '\0') {
        tls->reason = rl_tls_explain_certificate(X509_STORE_CTX_get_error(store),
                                                 X509_STORE_CTX_get_current_cert(store),
                                                 tls->name, tls->why, sizeof tls->why);
    }
    return good;
}

/* Binds the connection to the name that the certificate must carry. */
static bool expect_name(struct rl_tls *tls, const char *verify_name)
{
    size_t length = strcspn(verify_name, "%"); /* a zone is local and in no certificate */
    struct in6_addr address;

    if (length > 0 && verify_name[length - 1] == '.')
        length--; /* neither certificates nor SNI have the dot of a rooted name */
    if (length == 0 || length >= sizeof tls->name)
        return false;
    memcpy(tls->name, verify_name, length);
    tls->name[length] = '\0';

    if (inet_pton(AF_INET, tls->name, &address) == 1 ||
        inet_pton(AF_INET6, tls->name, &address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), tls->name) == 1;
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(tls->ssl, tls->name) == 1 &&
           SSL_set_tlsext_host_name(tls->ssl, tls->name) == 1;
}

int rl_tls_new(struct rl_tls_context *context, const char *verify_name, struct rl_tls **out)
{
    struct rl_tls *tls;
    BIO *in_bio;
    BIO *out_bio;

    ERR_clear_error();
    tls = calloc(1, sizeof *tls);
    in_bio = BIO_new(BIO_s_mem());
    out_bio = BIO_new(BIO_s_mem());
    if (!tls || !in_bio || !out_bio)
        goto cleanup;
    tls->ssl = SSL_new(context->ctx);
    if (!tls->ssl || !expect_name(tls, verify_name))
        goto cleanup;
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, on_verify);
    SSL_set_bio(tls->ssl, in_bio, out_bio);
    SSL_set_connect_state(tls->ssl);
    tls->in = in_bio;
    tls->out = out_bio;
    *out = tls;
    return 0;

cleanup:
    ERR_clear_error();
    BIO_free(in_bio);
    BIO_free(out_bio);
    if (tls)
        SSL_free(tls->ssl);
    free(tls);
    return -1;
}

void rl_tls_free(struct rl_tls *tls)
{
    if (tls) {
        SSL_free(tls->ssl);
        free(tls);
    }
}

/* ---- bytes --------------------------------------------------------------------------- */

static void fail(struct rl_tls *tls, enum redlock_reason reason, const char *why)
{
    tls->reason = reason;
    snprintf(tls->why, sizeof tls->why, "%s", why);
}

/*
 * After a call of OpenSSL that did not succeed: 0 if it only wants more input, else -1 and the
 * connection is broken. Leaves the thread's error queue empty, for its next user.
 */
static int judge(struct rl_tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);

    if (error == SSL_ERROR_WANT_READ) {
        ERR_clear_error();
        return 0;
    }
    tls->broken = true;
    if (tls->why[0] == '\0') {
        if (error == SSL_ERROR_ZERO_RETURN)
            fail(tls, REDLOCK_REASON_UNREACHABLE, "the server closed the connection");
        else
            tls->reason = rl_tls_explain_error(ERR_peek_error(), tls->why, sizeof tls->why);
    }
    ERR_clear_error();
    return -1;
}

int rl_tls_input(struct rl_tls *tls, const void *bytes, size_t n)
{
    size_t written = 0;

    if (tls->broken)
        return -1;
    if (n > 0 && (BIO_write_ex(tls->in, bytes, n, &written) != 1 || written != n)) {
        ERR_clear_error();
        tls->broken = true;
        fail(tls, REDLOCK_REASON_RESOURCES, "out of memory");
        return -1;
    }
    return 0;
}

size_t rl_tls_output(struct rl_tls *tls, void *bytes, size_t cap)
{
    size_t n = 0;

    if (cap == 0 || BIO_ctrl_pending(tls->out) == 0 ||
        BIO_read_ex(tls->out, bytes, cap, &n) != 1)
        return 0;
    return n;
}

int rl_tls_handshake(struct rl_tls *tls)
{
    int result;

    if (tls->broken)
        return -1;
    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    return result == 1 ? 1 : judge(tls, result);
}

int rl_tls_read(struct rl_tls *tls, void *bytes, size_t cap)
{
    int result;

    if (tls->broken)
        return -1;
    if (cap == 0)
        return 0;
    ERR_clear_error();
    result = SSL_read(tls->ssl, bytes, cap > INT_MAX ? INT_MAX : (int)cap);
    return result > 0 ? result : judge(tls, result);
}

int rl_tls_write(struct rl_tls *tls, const void *bytes, size_t n)
{
    size_t written = 0;
    int result;

    if (tls->broken)
        return -1;
    if (n == 0)
        return 0;
    ERR_clear_error();
    result = SSL_write_ex(tls->ssl, bytes, n, &written);
    if (result == 1)
        return 0;
    if (judge(tls, result) == 0) {
        tls->broken = true;
        fail(tls, REDLOCK_REASON_TLS, "written to before the TLS handshake was done");
    }
    return -1;
}

enum redlock_reason rl_tls_error(const struct rl_tls *tls, const char **text)
{
    *text = tls->why[0] != '\0' ? tls->why : "no TLS error";
    return tls->reason;
}
