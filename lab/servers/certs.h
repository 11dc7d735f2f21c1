/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Certificates made for one case by the openssl command, in the case's directory:
 *     ca.crt, other.crt              two authorities; the second signed nothing here
 *     good, expired, wrong, spelled, elsewhere, client
 *                                    NAME.crt and NAME.key, signed by the first
 * `good` and `expired` are for localhost, 127.0.0.1 and ::1, `wrong` is for wrong.example.
 * `spelled` has the DNS name "127.0.0.1", and `elsewhere` besides it the address 192.0.2.1.
 */
#ifndef REDLOCK_TESTS_CERTS_H
#define REDLOCK_TESTS_CERTS_H

void certs_make(void);

/* Path of one of the files above; valid for 8 calls. */
const char *certs_path(const char *file);

#endif
