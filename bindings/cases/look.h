/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps that look at the nodes: most ask again until what they expect has come to be so. */
#ifndef REDLOCK_CASES_LOOK_H
#define REDLOCK_CASES_LOOK_H

#include "world.h"

#include <jansson.h>

/* The client that the step names. */
redlock *step_client_of(struct world *w, const json_t *step);

/* As step_play() of steps.h. */
bool step_ping(struct world *w, const json_t *step);
bool step_quorum_of(struct world *w, const json_t *step);
bool step_query(struct world *w, const json_t *step);
bool step_list(struct world *w, const json_t *step);
bool step_break(struct world *w, const json_t *step);

#endif
