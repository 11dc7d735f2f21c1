/* SPDX-License-Identifier: BSD-2-Clause */
/* What the nodes' answers to a look at a name say together: its holders, its queue, its token. */
#ifndef RL_ENGINE_CONCLUSION_H
#define RL_ENGINE_CONCLUSION_H

#include "engine/survey.h"

/* wall_ms: this machine's wall clock. */
void rl_survey_conclude(const struct rl_survey *survey, int64_t wall_ms, redlock_info *out);

#endif
