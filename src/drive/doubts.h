/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubts about nodes, each reported once to redlock_options.warn. */
#ifndef RL_DRIVE_DOUBTS_H
#define RL_DRIVE_DOUBTS_H

#include "redlock.h"

/* The number of callbacks that ran. */
int rl_tell_doubts(redlock *client);

#endif
