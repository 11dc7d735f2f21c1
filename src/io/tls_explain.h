/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What went wrong with TLS: the reason, and sentences for readers that do not know OpenSSL's.
 */
#ifndef RL_IO_TLS_EXPLAIN_H
#define RL_IO_TLS_EXPLAIN_H

#include <openssl/x509.h>
#include <stddef.h>

#include "redlock.h"

/* A certificate that failed verification with `error`, one of X509_V_ERR_*. */
enum redlock_reason rl_tls_explain_certificate(int error, X509 *certificate,
                                               const char *wanted_name, char *why,
                                               size_t why_size);

/* An error code of OpenSSL's queue; 0 when there was none. */
enum redlock_reason rl_tls_explain_error(unsigned long code, char *why, size_t why_size);

#endif
