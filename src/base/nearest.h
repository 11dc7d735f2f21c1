/* SPDX-License-Identifier: BSD-2-Clause */
/* What a mistyped word was probably meant to be. */
#ifndef RL_BASE_NEAREST_H
#define RL_BASE_NEAREST_H

#include "base/slice.h"

/* Of `names`, which end with NULL and are in lower case; NULL: none is near. */
const char *rl_nearest(struct rl_slice word, const char *const *names);

#endif
