/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's end, in the process that opened it and in its children. */
#ifndef RL_CLIENT_CLOSE_H
#define RL_CLIENT_CLOSE_H

#include "redlock.h"

void rl_client_close(redlock *client);

/* Its steps, for several at once: nothing new begins; locks are given up; the end, at end_ns. */
void rl_close_announce(redlock *client);
void rl_close_begin(redlock *client);
void rl_close_end(redlock *client, int64_t end_ns);
void rl_close_in_child(redlock *client);

#endif
