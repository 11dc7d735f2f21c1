/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's end, in the process that opened it and in its children. */
#ifndef RL_CLIENT_CLOSE_H
#define RL_CLIENT_CLOSE_H

#include <stdbool.h>

#include "redlock.h"

/*
 * One client, or those of several quorums together: all give their locks up before any waits for the
 * answers, and all wait until the same moment. Quorums that do not answer cost their time once,
 * however many they are. False: not now, because this thread runs redlock_options.notify.
 */
bool rl_clients_close(redlock *const *clients, size_t count);

#endif
