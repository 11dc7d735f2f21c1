/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Newcomers that could keep a waiter away: a client that asks again in the very write that
 * gives the lock back, so that its request is at every node before a waiter can have heard of
 * the release; or a few that try all the time.
 */
#ifndef REDLOCK_TESTS_HOG_H
#define REDLOCK_TESTS_HOG_H

#include <stdint.h>

/* Beside one that asks again at once: how many of `services` waits ended with the lock. */
int hog_beside_asker(uint32_t flags, int services, int64_t wait_ms);

/* How often a waiter is served beside several processes that try in a loop. */
int hog_beside_triers(int services, int64_t wait_ms);

#endif
