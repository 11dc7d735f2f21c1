/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers with a wall clock of their own that can be set while they run. */
#ifndef REDLOCK_TESTS_NODECLOCK_H
#define REDLOCK_TESTS_NODECLOCK_H

#include "servers.h"

/* Between server_init() and server_launch(). Skips the case where preloading cannot work. */
void nodeclock_attach(struct server *s);

/* Sets the server's clock this far forward, or back; adds up. */
void nodeclock_step(struct server *s, int64_t ms);

/* Like cluster_start(): admitted, and each node with a clock of its own. */
void nodeclock_cluster(struct cluster *c, size_t count);

#endif
