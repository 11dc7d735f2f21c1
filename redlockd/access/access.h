/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may use locks. No rule, no access: what is allowed without any is what needs no rule, the daemon's
 * own user through a unix socket, whose kernel vouches for the peer. Loopback TCP is open to every user
 * of the machine and to every page in a browser on it, so it is not that.
 */
#ifndef REDLOCKD_ACCESS_H
#define REDLOCKD_ACCESS_H

#include <stdbool.h>

#include "http/server.h"

#define ACCESS_PRINCIPAL_MAX 128

/* The principal of a peer that may use locks, terminated: "uid:1000". False: it may not. */
bool access_allows(const struct http_peer *peer, char principal[ACCESS_PRINCIPAL_MAX + 1]);

#endif
