/* SPDX-License-Identifier: BSD-2-Clause */
/* Which locks are there? */
#ifndef RL_CLIENT_LIST_H
#define RL_CLIENT_LIST_H

#include "drive/question.h"

int rl_client_list(redlock *client, redlock_name_fn *each, void *data);

/* To be started. NULL: out of memory. */
struct rl_question *rl_list_new(const struct rl_asker *asker);

#endif
