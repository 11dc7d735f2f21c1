/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers with a wall clock of their own that can be set while they run. */
#ifndef REDLOCK_TESTS_NODECLOCK_H
#define REDLOCK_TESTS_NODECLOCK_H

#include "servers.h"

/* Between server_init() and server_launch(). */
void nodeclock_attach(struct server *s);

/* Sets the server's clock some seconds forward, or back; adds up. TIME has
 * followed on return. */
void nodeclock_step(struct server *s, int64_t ms);

/* Like cluster_start(), each node with a clock of its own. Skips the case for
 * a static server. */
void nodeclock_cluster(struct cluster *c, size_t count);

#endif
