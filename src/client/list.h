/* SPDX-License-Identifier: BSD-2-Clause */
/* Which locks are there? */
#ifndef RL_CLIENT_LIST_H
#define RL_CLIENT_LIST_H

#include "redlock.h"

int rl_client_list(redlock *client, redlock_name_fn *each, void *data);

#endif
