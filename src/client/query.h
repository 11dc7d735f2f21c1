/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of one step, or two: a query, a break, a release by tag, a ping, an admission. */
#ifndef RL_CLIENT_QUERY_H
#define RL_CLIENT_QUERY_H

#include "drive/question.h"

int rl_client_query(redlock *client, const char *name, redlock_info *info,
                    redlock_report *report);
int rl_client_break(redlock *client, const char *name, const char *mark,
                    redlock_report *report);
int rl_client_release_tagged(redlock *client, const char *name, const char *tag,
                             redlock_report *report);
int rl_client_ping(redlock *client, redlock_report *report);
int rl_client_admit(redlock *client, redlock_report *report);

int rl_client_start_query(redlock *client, const char *name, const struct rl_asker *asker);
int rl_client_start_break(redlock *client, const char *name, const char *mark,
                          const struct rl_asker *asker);
int rl_client_start_release_tagged(redlock *client, const char *name, const char *tag,
                                   const struct rl_asker *asker);

/* RL_OP_PING or RL_OP_ADMIT, to be started. NULL: out of memory. */
struct rl_question *rl_poll_new(enum rl_op op, const struct rl_asker *asker);

/* The caller must have given a function. */
int rl_done_check(redlock_answer_fn *done);

#endif
