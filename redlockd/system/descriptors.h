/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many clients the limit of open files has room for.
 *
 * A descriptor that a client has taken is missing where a node has to be connected again: a
 * flood of clients would cost the replica its nodes, and the holders of locks their renewals.
 * So some are kept for everything else.
 */
#ifndef REDLOCKD_SYSTEM_DESCRIPTORS_H
#define REDLOCKD_SYSTEM_DESCRIPTORS_H

/* For nodes, listeners, files and timers; half of a limit that is below twice as many. */
#define DESCRIPTORS_KEPT 256u

/* Raises the soft limit as far as `clients` need it and the hard limit lets it. How many of
 * them have room. */
unsigned descriptors_for(unsigned clients);

#endif
