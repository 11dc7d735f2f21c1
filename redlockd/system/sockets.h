/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listening sockets: those that the service manager opened (LISTEN_FDS, sd_listen_fds(3)), and
 * our own.
 *
 * Sockets of the manager outlive the daemon: clients that connect during a restart wait in the
 * kernel's queue instead of being refused. All sockets come back non-blocking and
 * close-on-exec.
 */
#ifndef REDLOCKD_SYSTEM_SOCKETS_H
#define REDLOCKD_SYSTEM_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many listening sockets the manager has passed, *fds first; more than `most`, or something
 * that does not listen, is -1 with a sentence in why. Takes the variables out of the
 * environment. */
int sockets_inherited(int *fds, int most, char *why, size_t why_size);

/*
 * Opens what `address` names: unix:/path, or HOST:PORT with a literal address ([::1]:9402),
 * port 0 for any. A socket file that no process listens on is replaced; a unix socket gets this
 * mode (0600: only this user and root can connect) and this group, a name or a number (NULL:
 * the one of the process). The descriptor, or -1 with a sentence in why.
 */
int sockets_open(const char *address, unsigned mode, const char *group, char *why,
                 size_t why_size);

/* Connects to what sockets_open() has opened; each read and write takes so long at
 * most. As sockets_open(). */
int sockets_connect(const char *address, unsigned timeout_s, char *why, size_t why_size);

/* The number of a group given by its name or number; -1 with a sentence in why:
 * there is none. */
int64_t sockets_group(const char *group, char *why, size_t why_size);

/* Only processes of this machine can reach it: a unix socket, or loopback. */
bool sockets_is_local(int fd);

/* The same of an address, without opening it: 1, 0, or -1 with a sentence in why:
 * not an address. */
int sockets_check(const char *address, char *why, size_t why_size);

/* Where it listens, for people: unix:/path or 127.0.0.1:9402. */
void sockets_name(int fd, char *text, size_t size);

#endif
