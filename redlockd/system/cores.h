/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon leaves behind when it crashes. */
#ifndef REDLOCKD_SYSTEM_CORES_H
#define REDLOCKD_SYSTEM_CORES_H

/* No core is written from now on: it would have the lease ids and tokens of requests under way,
 * and the passwords of the nodes. The hard limit stays, so that prlimit can raise it again. */
void cores_forbid(void);

#endif
