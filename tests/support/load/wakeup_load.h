/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New clients that meet: they subscribe while the first locks are already changing hands, and
 * collide on every node.
 */
#ifndef REDLOCK_TESTS_WAKEUP_LOAD_H
#define REDLOCK_TESTS_WAKEUP_LOAD_H

#include "check.h"

#include <stdint.h>

enum { WAKEUP_ROUNDS = CHECK_SANITIZED ? 30 : 100 };

/* In how many rounds, up to enough, was a waiter served by a timer for want of a message? */
int wakeup_lost(uint32_t flags, int rounds_max, int enough);

#endif
