/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New clients that meet: they subscribe while the first locks are already changing hands, and
 * collide on every node.
 */
#ifndef REDLOCK_TESTS_WAKEUP_LOAD_H
#define REDLOCK_TESTS_WAKEUP_LOAD_H

#include <stdint.h>

/* Rounds, up to enough, in which somebody was served by a timer for want of a message. */
int wakeup_lost(uint32_t flags, int enough);

#endif
