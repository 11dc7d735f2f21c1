/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups the process at the other end of a unix socket was in when it connected. */
#ifndef REDLOCKD_ACCESS_GROUPS_H
#define REDLOCKD_ACCESS_GROUPS_H

#include "access/rules.h"
#include "http/server.h"

/* Of those that are `named`, its own and the supplementary ones. The kernel is asked if
 * any is named. */
void access_groups_of(const struct http_peer *peer, const struct access_groups *named,
                      struct access_groups *out);

#endif
