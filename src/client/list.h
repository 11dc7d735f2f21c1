/* SPDX-License-Identifier: BSD-2-Clause */
/* Which locks are there? */
#ifndef RL_CLIENT_LIST_H
#define RL_CLIENT_LIST_H

#include "drive/question.h"

/* NULL: out of memory. */
struct rl_question *rl_list_new(void);

#endif
