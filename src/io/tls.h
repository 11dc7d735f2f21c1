/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLS without sockets: ciphertext in, ciphertext out, plaintext on the other side. At least
 * TLS 1.2; the peer's certificate and name are always verified and nothing switches that off.
 *
 * Separate objects may be used by separate threads at once; a context may be shared by all.
 */
#ifndef RL_IO_TLS_H
#define RL_IO_TLS_H

#include <stddef.h>

#include "redlock.h"

struct rl_tls_context;
struct rl_tls;

/*
 * ca_file: NULL for the system's store. cert_file: NULL for no client certificate. key_file:
 * NULL for a key inside cert_file. 0 and *out, the caller's; or -1, a sentence in why, and
 * *out untouched.
 */
int rl_tls_context_new(const char *ca_file, const char *cert_file, const char *key_file,
                       char *why, size_t why_size, struct rl_tls_context **out);

/* NULL is fine. Connections made from the context stay usable. */
void rl_tls_context_free(struct rl_tls_context *context);

/*
 * The client's side of one connection to the peer that must prove to be verify_name, a host
 * name or an IP address. 0, or -1 (out of memory) with *out untouched.
 */
int rl_tls_new(struct rl_tls_context *context, const char *verify_name, struct rl_tls **out);

/* NULL is fine. */
void rl_tls_free(struct rl_tls *tls);

/* Ciphertext from the peer; all of it is taken. 0/-1. */
int rl_tls_input(struct rl_tls *tls, const void *bytes, size_t n);

/* Ciphertext for the peer: how many bytes were put into the buffer, 0 none. */
size_t rl_tls_output(struct rl_tls *tls, void *bytes, size_t cap);

/* 1 done, 0 go on after more input, -1 failed. There may be output in every case. */
int rl_tls_handshake(struct rl_tls *tls);

/* > 0 bytes of plaintext, 0 nothing now, -1 error, or the peer closed the connection. */
int rl_tls_read(struct rl_tls *tls, void *bytes, size_t cap);

/* Plaintext for the peer, after the handshake; all of it is taken. 0/-1. */
int rl_tls_write(struct rl_tls *tls, const void *bytes, size_t n);

/*
 * After a -1: why, and one sentence of what to do about it, which is valid until rl_tls_free().
 */
enum redlock_reason rl_tls_error(const struct rl_tls *tls, const char **text);

#endif
