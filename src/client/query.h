/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of one step, or two: a query, a break, a release by key, a ping, an admission. */
#ifndef RL_CLIENT_QUERY_H
#define RL_CLIENT_QUERY_H

#include "client/ask.h"

/* NULL: out of memory. */
struct rl_question *rl_query_new(const struct rl_question_terms *terms);

#endif
