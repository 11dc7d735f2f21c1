/* SPDX-License-Identifier: BSD-2-Clause */
/* The I/O thread. */
#ifndef RL_DRIVE_THREAD_H
#define RL_DRIVE_THREAD_H

#include "redlock.h"

int rl_thread_start(redlock *client);
/* The mutex is held, and is again afterwards. */
void rl_thread_stop(redlock *client);

#endif
