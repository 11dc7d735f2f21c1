/* SPDX-License-Identifier: BSD-2-Clause */
/* Between conn.c (the life of a connection) and conn_stream.c (its bytes). */
#ifndef RL_IO_CONN_STREAM_H
#define RL_IO_CONN_STREAM_H

#include "io/conn.h"

/* conn.c: the connection is over; the session is told and a new try is planned. */
void rl_conn_fail(struct rl_conn *conn, enum redlock_vote vote, enum redlock_reason reason,
                  const char *text, int64_t now_ns);
/*
 * The same; if nothing ever came back, the port may be of the other sort, with or without TLS.
 */
void rl_conn_fail_unheard(struct rl_conn *conn, enum redlock_vote vote,
                          enum redlock_reason reason, const char *text, int64_t now_ns);
void rl_conn_fail_errno(struct rl_conn *conn, int error, int64_t now_ns);
void rl_conn_fail_tls(struct rl_conn *conn, int64_t now_ns);
void rl_conn_handshake(struct rl_conn *conn, int64_t now_ns);
/* The result of a connect that was under way. */
void rl_conn_check_connected(struct rl_conn *conn, int64_t now_ns);

/* conn_stream.c */
void rl_conn_want_write(struct rl_conn *conn, bool wanted);
/* Moves TLS output to the socket. -1: the connection has failed. */
int rl_conn_send_cipher(struct rl_conn *conn, int64_t now_ns);

#endif
