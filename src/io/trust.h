/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system's store of CA certificates. OpenSSL looks where it was configured to be installed:
 * of a program that carries it inside, that is the place of the machine that built it, and on
 * other distributions there is nothing.
 */
#ifndef RL_IO_TRUST_H
#define RL_IO_TRUST_H

struct ssl_ctx_st;

/* 0; or -1: SSL_CERT_FILE and SSL_CERT_DIR are not set, and there is no store in
 * any known place. */
int rl_trust_system(struct ssl_ctx_st *context);

#endif
