/* SPDX-License-Identifier: BSD-2-Clause */
/* What redlock_detail() says of an operation that the nodes decided. */
#ifndef RL_DRIVE_EXPLAIN_H
#define RL_DRIVE_EXPLAIN_H

#include "drive/client.h"

#define RL_OF_QUORUM_MAX (REDLOCK_QUORUM_MAX + 16)
/* " of quorum 'east'", or nothing where there is only one. */
const char *rl_of_quorum(const redlock *client, char text[RL_OF_QUORUM_MAX]);

/* The holder that an acquire waits for or was refused for. False: no node has told. */
bool rl_lock_holder(const redlock_lock *lock, redlock_holder *out);

int rl_explain(const redlock_lock *lock, enum rl_operation operation, int error);

#endif
