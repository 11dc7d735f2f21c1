/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit's verdicts on what its user may do on a node: locks, tokens, queues, other kinds. */
#ifndef RL_CLIENT_CHECK_RIGHTS_H
#define RL_CLIENT_CHECK_RIGHTS_H

#include "client/audit.h"

void rl_check_rights(const struct rl_audit *audit, uint8_t node, uint32_t doubts);

#endif
