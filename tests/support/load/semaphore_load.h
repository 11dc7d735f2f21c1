/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that want one of k permits while nodes fail: the most that held one at a time. */
#ifndef REDLOCK_TESTS_SEMAPHORE_LOAD_H
#define REDLOCK_TESTS_SEMAPHORE_LOAD_H

#include "kinds_load.h"

struct load *semaphore_load(uint32_t slots, size_t nodes, int64_t run_ms, unsigned faults,
                            unsigned seed);

/*
 * Three clients that each cannot reach another one of three nodes want a semaphore of two: how
 * many of them hold it at the same time.
 */
int semaphore_partitioned(void);

#endif
