/* SPDX-License-Identifier: BSD-2-Clause */
/* The most usual failure: another holds the lock. One line says who, for how long and
 * how many wait. */
#ifndef CLI_BUSY_H
#define CLI_BUSY_H

#include "lock/held_lock.h"

/* Reports BUSY or TIMEOUT of an acquisition and returns `status`. */
int busy_report(struct held_lock *h, const struct settings *s, const struct terms *terms,
                int error, int status);

#endif
