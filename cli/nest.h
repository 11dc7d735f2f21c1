/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One `redlock run` inside another. REDLOCK_HELD lists what those around hold, outermost first:
 * kind, colon, name, with blanks between them; in names, what is neither letter nor digit nor one
 * of ._- is written as %XX. With it, waiting for oneself is noticed before it begins.
 */
#ifndef CLI_NEST_H
#define CLI_NEST_H

#include <stdbool.h>

struct terms;

/* Would this wait for a lock that a `redlock run` around it holds? 0, or 64 after saying why. */
int nest_check(const struct terms *t);

/* Adds the names to REDLOCK_HELD. False: out of memory. */
bool nest_set_environment(const struct terms *t);

#endif
