/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/tls_explain.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NAME_SIZE 64 /* of a certificate's name in a sentence; a longer one is cut */

/* A name comes from the peer: only printable ASCII of it reaches a terminal. */
static void copy_printable(char *out, size_t size, const unsigned char *from, size_t length)
{
    size_t n = 0;

    while (n < length && n + 1 < size) {
        out[n] = from[n] >= 0x20 && from[n] < 0x7f ? (char)from[n] : '?';
        n++;
    }
    out[n] = '\0';
}

static bool common_name(const X509_NAME *name, char *out, size_t size)
{
    int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    const ASN1_STRING *text;

    if (index < 0)
        return false;
    text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
    copy_printable(out, size, ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
    return out[0] != '\0';
}

static bool alternative_name(const GENERAL_NAME *name, char *out, size_t size)
{
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);

    if (type == GEN_DNS) {
        copy_printable(out, size, ASN1_STRING_get0_data(value),
                       (size_t)ASN1_STRING_length(value));
        return true;
    }
    if (type == GEN_IPADD) {
        int family = ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6;

        if (family == AF_INET6 && ASN1_STRING_length(value) != 16)
            return false;
        return inet_ntop(family, ASN1_STRING_get0_data(value), out, (socklen_t)size) != NULL;
    }
    return false;
}

/* The first alternative name, or of them the first IP address. */
static bool first_name(X509 *certificate, bool address, char *out, size_t size)
{
    bool found = false;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        found = (!address || name->type == GEN_IPADD) && alternative_name(name, out, size);
    }
    GENERAL_NAMES_free(names);
    return found;
}

/* Only IP entries count for an address in the URL: DNS entries and the common name may spell
 * the very same address, and are no match. */
static void explain_name(int error, X509 *certificate, const char *wanted_name, char *why,
                         size_t why_size)
{
    char text[NAME_SIZE];
    bool address = error == X509_V_ERR_IP_ADDRESS_MISMATCH;
    bool has_address = address && first_name(certificate, true, text, sizeof text);

    if (!has_address && !first_name(certificate, false, text, sizeof text) &&
        !common_name(X509_get_subject_name(certificate), text, sizeof text))
        snprintf(text, sizeof text, "no name at all");
    if (address && !has_address) {
        snprintf(why, why_size,
                 "name mismatch: the certificate (%s) has no IP address among its alternative "
                 "names: it needs IP:%.*s, or set the TLS server name",
                 text, NAME_SIZE, wanted_name);
        return;
    }
    snprintf(why, why_size,
             "name mismatch: the certificate is for %s, not %.*s: correct the URL or set the "
             "TLS server name",
             text, NAME_SIZE, wanted_name);
}

static void date(const ASN1_TIME *from, char *out, size_t size)
{
    struct tm utc;

    if (!from || !ASN1_TIME_to_tm(from, &utc) ||
        strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        snprintf(out, size, "an unknown date");
}

enum redlock_reason rl_tls_explain_certificate(int error, X509 *certificate,
                                               const char *wanted_name, char *why,
                                               size_t why_size)
{
    char text[NAME_SIZE] = "?";

    switch (!certificate ? X509_V_ERR_UNSPECIFIED : error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        date(X509_get0_notAfter(certificate), text, sizeof text);
        snprintf(why, why_size, "the server's certificate has expired (%s): renew it", text);
        return REDLOCK_REASON_CERTIFICATE;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        date(X509_get0_notBefore(certificate), text, sizeof text);
        snprintf(why, why_size,
                 "the server's certificate is not valid before %s: check this machine's clock",
                 text);
        return REDLOCK_REASON_CERTIFICATE;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_name(error, certificate, wanted_name, why, why_size);
        return REDLOCK_REASON_SERVER_NAME;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        snprintf(
            why, why_size,
            "the server's certificate is self-signed: give it as the TLS CA file to trust it");
        return REDLOCK_REASON_AUTHORITY;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        if (!common_name(X509_get_issuer_name(certificate), text, sizeof text))
            snprintf(text, sizeof text, "unnamed");
        snprintf(why, why_size,
                 "unknown authority (%s): give its certificate as the TLS CA file", text);
        return REDLOCK_REASON_AUTHORITY;
    default:
        snprintf(why, why_size, "the server's certificate was not accepted: %s",
                 X509_verify_cert_error_string(error));
        return REDLOCK_REASON_CERTIFICATE;
    }
}

/* What reasons of OpenSSL mean for a user with a wrong URL or a missing file. */
static const struct {
    enum redlock_reason reason;
    const char *remedy;
    int codes[6]; /* SSL_R_*; the rest 0 */
} meanings[] = {
    {REDLOCK_REASON_PLAIN_PORT,
     "the server does not speak TLS here: use its TLS port, or redis:// if it has none",
     {SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST,
      SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_BAD_RECORD_TYPE}},
    {REDLOCK_REASON_TLS,
     "protocol version: the server offers no TLS 1.2 or newer: allow one there",
     {SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_UNSUPPORTED_SSL_VERSION,
      SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_VERSION_TOO_LOW}},
    {REDLOCK_REASON_CLIENT_CERTIFICATE,
     "the server wants a client certificate: set the TLS certificate file",
     {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED}},
    {REDLOCK_REASON_CLIENT_CERTIFICATE,
     "the server broke off the handshake: it may want a client certificate, or has no cipher "
     "in common",
     {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE}},
    {REDLOCK_REASON_CLIENT_CERTIFICATE,
     "the server does not know the authority that signed our client certificate",
     {SSL_R_TLSV1_ALERT_UNKNOWN_CA}},
    {REDLOCK_REASON_CLIENT_CERTIFICATE,
     "the server says that our client certificate has expired: renew it",
     {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED}},
    {REDLOCK_REASON_CLIENT_CERTIFICATE,
     "the server did not accept our client certificate: check the TLS certificate file",
     {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
      SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
      SSL_R_TLSV1_ALERT_ACCESS_DENIED}},
};

enum redlock_reason rl_tls_explain_error(unsigned long code, char *why, size_t why_size)
{
    int reason = code != 0 && ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;

    for (size_t i = 0; reason && i < sizeof meanings / sizeof meanings[0]; i++)
        for (const int *known = meanings[i].codes; *known; known++)
            if (*known == reason) {
                snprintf(why, why_size, "%s", meanings[i].remedy);
                return meanings[i].reason;
            }
    snprintf(why, why_size, "TLS protocol error: %s",
             text ? text : "the connection ended in the middle");
    return REDLOCK_REASON_TLS;
}
