/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/trust.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <unistd.h>

/* Bundles of the large distributions, as other programs that carry their TLS inside
 * look for them. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch, our image */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* the same, newer */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/etc/ssl/cert.pem",
};

int rl_trust_system(SSL_CTX *context)
{
    /* What the user names, and then what OpenSSL's own installation has, goes first. */
    if (secure_getenv(X509_get_default_cert_file_env()) ||
        secure_getenv(X509_get_default_cert_dir_env()) ||
        access(X509_get_default_cert_file(), R_OK) == 0 ||
        access(X509_get_default_cert_dir(), R_OK) == 0)
        return SSL_CTX_set_default_verify_paths(context) == 1 ? 0 : -1;
    for (size_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++)
        if (access(bundles[i], R_OK) == 0)
            return SSL_CTX_load_verify_file(context, bundles[i]) == 1 ? 0 : -1;
    return -1;
}
