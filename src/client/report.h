/* SPDX-License-Identifier: BSD-2-Clause */
/* What each node did for an operation, with the text of its reply. */
#ifndef RL_CLIENT_REPORT_H
#define RL_CLIENT_REPORT_H

#include "drive/client.h"
#include "engine/survey.h"

void rl_report_lock(const redlock_lock *lock, redlock_report *out);
/* info: what the answers say together; NULL: too few answered, or nothing was looked at. */
void rl_report_survey(const redlock *client, const struct rl_survey *survey,
                      const redlock_info *info, redlock_report *out);

/*
 * redlock_failure_report() of this thread: the room to be filled by the caller, as by
 * rl_report_lock(), or a copy; NULL: no node was asked.
 */
redlock_report *rl_failure_report_room(void);
void rl_failure_report_set(const redlock_report *report);

void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out);

/* redlock_node() of one client. */
int rl_client_node(redlock *client, size_t index, redlock_node_info *out);

#endif
