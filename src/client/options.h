/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the options of a client: defaults, bounds, each mistake with its own complaint. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "redlock.h"

int rl_options_read(const redlock_options *given, redlock_options *out);

#endif
