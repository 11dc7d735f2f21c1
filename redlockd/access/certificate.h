/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The principal of a client's certificate: "cert:" and its first subjectAltName of the first of
 * these kinds that it has: URI, DNS (in small letters), email. These cannot be mistaken for
 * each other: a URI has a colon, an address an @, a DNS name neither; a certificate in which
 * one looks like another proves nothing. The subject's common name is never looked at.
 */
#ifndef REDLOCKD_ACCESS_CERTIFICATE_H
#define REDLOCKD_ACCESS_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>

#define CERTIFICATE "cert:"

struct ssl_st;

/* False: there is none, none that names a principal, or one that does not count
 * now (any more). */
bool certificate_principal(struct ssl_st *ssl, char *principal, size_t size);

#endif
