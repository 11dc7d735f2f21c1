/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record: a lock NAME.every that nothing holds, left on the nodes by `redlock run --every` or
 * once() to record that NAME has run, and that expires when NAME may run again. Nodes that have
 * restarted since do not have it, and need not.
 */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <redlock.h>
#include <stdbool.h>

#define RECORD_SUFFIX ".every"

/*
 * Is this lock a record? Names with the suffix are for records; a lock of such a name that
 * cannot be one, since it has a token, waiters, an owner or several holders, is shown as the
 * lock that it is.
 */
bool record_is(const char *name, const redlock_info *info);

#endif
