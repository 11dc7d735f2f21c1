/* SPDX-License-Identifier: BSD-2-Clause */
/* What redlock_detail() returns, by thread. */
#ifndef RL_DRIVE_DETAIL_H
#define RL_DRIVE_DETAIL_H

#include "redlock.h"

/* Return `error`, so that a caller can return it in turn. */
int rl_detail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rl_detail_system(const char *what, int error);

#endif
