/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/certificate.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "http/tls.h"

/* The text of a name, unless there is something in it that no name of its kind has. */
static bool read_name(int kind, const ASN1_IA5STRING *text, char *out, size_t size)
{
    const char *bytes = (const char *)ASN1_STRING_get0_data(text);
    size_t length = (size_t)ASN1_STRING_length(text);
    bool has_colon = false, has_at = false;

    if (length == 0 || length >= size)
        return false;
    for (size_t i = 0; i < length; i++) {
        /* No NUL, blank or control: a principal is a word of a rule. */
        if (bytes[i] <= ' ' || bytes[i] > '~')
            return false;
        has_colon |= bytes[i] == ':';
        has_at |= bytes[i] == '@';
        out[i] = kind == GEN_DNS ? (char)tolower((unsigned char)bytes[i]) : bytes[i];
    }
    out[length] = '\0';
    return kind == GEN_URI     ? has_colon
           : kind == GEN_EMAIL ? has_at && !has_colon
                               : !has_at && !has_colon;
}

/* The first name of this kind decides; 0: there is none; -1: it is none that can be used. */
static int find_name(const GENERAL_NAMES *names, int kind, char *out, size_t size)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        /* The three kinds are the same type of string in the same union. */
        if (name->type == kind)
            return read_name(kind, name->d.ia5, out, size) ? 1 : -1;
    }
    return 0;
}

bool certificate_principal(struct ssl_st *ssl, char *principal, size_t size)
{
    static const int kinds[] = {GEN_URI, GEN_DNS, GEN_EMAIL};
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    size_t prefix = strlen(CERTIFICATE);
    GENERAL_NAMES *names;
    int found = 0;

    if (!certificate || !http_tls_peer_counts(ssl))
        return false;
    names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (size_t i = 0; names && !found && i < sizeof kinds / sizeof *kinds; i++)
        found = find_name(names, kinds[i], principal + prefix, size - prefix);
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    memcpy(principal, CERTIFICATE, prefix);
    return found == 1;
}
