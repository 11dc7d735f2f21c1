/* SPDX-License-Identifier: BSD-2-Clause */
/* What a mistyped word was probably meant to be. */
#ifndef RL_PROTOCOL_NEAREST_H
#define RL_PROTOCOL_NEAREST_H

#include "protocol/span.h"

/* The nearest of `names` (NULL-terminated, lower case), or NULL when none is near. */
const char *rl_nearest(struct rl_span word, const char *const *names);

#endif
