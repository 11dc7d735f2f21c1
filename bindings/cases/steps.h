/* SPDX-License-Identifier: BSD-2-Clause */
/* Carrying out the steps of a case; README.md defines them. */
#ifndef REDLOCK_CASES_STEPS_H
#define REDLOCK_CASES_STEPS_H

#include "world.h"

#include <jansson.h>

/* false: the outcome was not as expected, or the step is none; w->why says how. */
bool step_play(struct world *w, const json_t *step);

/* The steps that look at the nodes: most look again until it is as expected. */
bool step_ping(struct world *w, const json_t *step);
bool step_quorum_of(struct world *w, const json_t *step);
bool step_look(struct world *w, const json_t *step);
bool step_break(struct world *w, const json_t *step);

/* The client that the step names. */
redlock *step_client_of(struct world *w, const json_t *step);

#endif
