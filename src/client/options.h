/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the options of a client: defaults, bounds, each mistake with its own complaint. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "redlock.h"

/* Copies what the caller gave, zero where its header is older; flags are checked. */
int rl_options_read(const redlock_options *given, redlock_options *out);

/* Puts defaults in place of zeros and checks bounds, once nothing is missing any more. */
int rl_options_check(redlock_options *o);

#endif
