/* SPDX-License-Identifier: BSD-2-Clause */
/* What is held on the nodes that `redlock init` is to let vote. */
#ifndef CLI_INIT_HELD_H
#define CLI_INIT_HELD_H

#include <redlock.h>

#include "settings/settings.h"

/*
 * Looks for locks of one quorum. 0 when there are none; EXIT_IN_USE after listing them with
 * their holders, or another exit status after printing why it could not be seen.
 */
int init_refuse_held(const struct settings *s, redlock *client, redlock *member);

#endif
