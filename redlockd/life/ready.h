/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `redlockd --ready`: does the daemon that runs with these settings answer /readyz with 200? A
 * health check for containers, which have neither a shell nor curl.
 */
#ifndef REDLOCKD_LIFE_READY_H
#define REDLOCKD_LIFE_READY_H

#include <stddef.h>

#include "settings/settings.h"

/*
 * Without a listener and a file among the settings they are read anew from the command line of
 * process 1, which in a container is the daemon, or an init that has started it. 0: it is
 * ready; else a value for fail() of main.c, with a sentence in why.
 */
int ready_check(struct settings *settings, char *why, size_t why_size);

#endif
