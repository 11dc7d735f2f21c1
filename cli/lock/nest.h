/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One `redlock run` inside another. REDLOCK_HELD lists what those around hold, outermost first:
 * kind:name, or kind:name:owner, with blanks between them; in names and owners, what is neither
 * letter nor digit nor one of ._- is written as %XX. With it, a lock that is held around us is
 * entered again as its owner, and a `redlock run` that would wait for itself is refused.
 */
#ifndef CLI_NEST_H
#define CLI_NEST_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

struct terms;

/* The kind under which the name is held around us, the innermost of it, and its
 * owner; -1: not. */
int32_t nest_held(const char *name, char owner[REDLOCK_OWNER_MAX + 1]);

/* Is this the owner of anything that is held around us? */
bool nest_is_owner(const char *owner);

/* Would this wait for a lock that a `redlock run` around it holds? 0, or 64
 * after printing why. */
int nest_check(const struct terms *t);

/* Adds the names to REDLOCK_HELD. False: out of memory. */
bool nest_set_environment(const struct terms *t);

#endif
