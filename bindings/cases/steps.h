/* SPDX-License-Identifier: BSD-2-Clause */
/* Carrying out the steps of a case; README.md defines them. */
#ifndef REDLOCK_CASES_STEPS_H
#define REDLOCK_CASES_STEPS_H

#include "world.h"

#include <jansson.h>

/* false: the outcome was not as expected, or the step is none; w->why says how. */
bool step_play(struct world *w, const json_t *step);

#endif
