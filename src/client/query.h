/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking the nodes without changing anything. */
#ifndef RL_CLIENT_QUERY_H
#define RL_CLIENT_QUERY_H

#include "drive/client.h"
#include "engine/survey.h"

int rl_client_query(redlock *client, const char *name, redlock_info *info,
                    redlock_report *report);
int rl_client_break(redlock *client, const char *name, const char *mark,
                    redlock_report *report);
int rl_client_ping(redlock *client, redlock_report *report);
int rl_client_admit(redlock *client, redlock_report *report);

/* Asks all nodes and waits for the answers. The mutex is held, before and after. */
int rl_ask(redlock *client, redlock_lock *lock, enum rl_op question, struct rl_survey *survey);

#endif
