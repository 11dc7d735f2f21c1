/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations that are counted, and one that fails: for a test
 * linked by redlockd_count_memory(). */
#ifndef REDLOCKD_TESTS_MEMORY_H
#define REDLOCKD_TESTS_MEMORY_H

#include <stddef.h>

/* Counts from here on; the allocation of this number fails, 0: none does. */
void memory_count(size_t failing);

/* How many there were. From here on none is counted, and none fails. */
size_t memory_counted(void);

#endif
