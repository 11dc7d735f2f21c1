/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `redlock init --replace OLD`: a new server takes the place of one that is gone, while locks are held
 * on the others (docs/operations.md).
 *
 * A lock that leaned on the old server has ended, or was renewed on the others, once the longest TTL
 * has passed since it stopped. So all nodes are watched for the guard time on one connection each, as a
 * client watches a young node, and the old server must not answer meanwhile. Nothing is written
 * before that, so an interrupted one is simply begun anew.
 */
#ifndef CLI_REPLACE_H
#define CLI_REPLACE_H

#include <redlock.h>

#include "settings/settings.h"

/* Checks what can be checked, and waits. 0 when the new node may be admitted, or an exit status. */
int replace_wait(struct settings *s, redlock *member, const char *old,
                 const redlock_admission *found);

#endif
