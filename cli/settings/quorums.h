/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums, as the command shows them. */
#ifndef CLI_QUORUMS_H
#define CLI_QUORUMS_H

#include <redlock.h>

/* The name of a quorum; "" for the nodes of a configuration without quorums. */
void quorums_name(redlock *client, size_t index, char out[REDLOCK_QUORUM_MAX + 1]);

#endif
