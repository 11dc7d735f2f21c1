/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of one client. */
#ifndef RL_CLIENT_STATS_H
#define RL_CLIENT_STATS_H

#include "redlock.h"

/* Adds them to *sum, whose size is that of this library. */
int rl_client_add_stats(redlock *client, redlock_stats *sum);

#endif
