/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loopback ports that belong to this process. A reservation is a bound socket that does not
 * listen: connecting is refused, other tests cannot pick the port, and our own server may
 * still bind it (again and again) because both sides allow address reuse.
 */
#ifndef REDLOCK_TESTS_PORTS_H
#define REDLOCK_TESTS_PORTS_H

struct port {
    int number;
    int fd; /* the reservation */
};

struct port port_reserve(void);
void port_release(struct port *p);

/* A listening socket on the reserved port. */
int port_listen(const struct port *p);

/* A connection to it, without Nagle's delay; -1 when it is refused. */
int port_connect(int number);

/* Whether this machine has ::1. */
int port_have_ipv6(void);

#endif
