/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A blocking, trusting RESP2 client for looking into the servers from outside. It shares no
 * code with the library on purpose: what it sees is a second opinion.
 */
#ifndef REDLOCK_TESTS_RESP_H
#define REDLOCK_TESTS_RESP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct resp {
    int fd;
    size_t start, end; /* unread part of buffer */
    char buffer[16384];
};

/* NULL without a listener. Reads give up after ten seconds. */
struct resp *resp_unix(const char *path);
struct resp *resp_tcp(const char *host, int port);
struct resp *resp_fd(int fd); /* takes the descriptor over */

/* redis://host:port, host:port or unix:///path; no credentials, no TLS, port 6379 by default.
 * NULL with errno set, which is EINVAL when it is none of these. */
struct resp *resp_url(const char *url);
void resp_free(struct resp *r);

/* One command, its arguments ended by NULL. 0, or -1 when the connection broke. */
int resp_send(struct resp *r, const char *const *argv);

/* What that sends. Its length, or 0 when it does not fit. */
size_t resp_encode(char *out, size_t size, const char *const *argv);

/*
 * One reply as text: status and bulk as they are, integers in decimal, nil as "(nil)", errors
 * with their leading '-', array elements one per line. Text beyond `size` is cut off.
 * 0, or -1 when the connection broke or is not RESP.
 */
int resp_read(struct resp *r, char *out, size_t size);

/* Both; false when the connection broke, or the reply is an error. */
bool resp_call(struct resp *r, const char *const *argv, char *out, size_t size);

/* Collects the arguments of a variadic call up to its NULL; at most max - 1 of them. */
void resp_collect(const char **argv, size_t max, const char *first, va_list args);

#endif
