/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubts about nodes, each reported once, as an event WARNING. */
#ifndef RL_DRIVE_DOUBTS_H
#define RL_DRIVE_DOUBTS_H

#include "redlock.h"

/* Adds an event for each that is new. The mutex is held. */
void rl_find_doubts(redlock *client);

#endif
