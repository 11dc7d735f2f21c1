/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wall clock that can be stepped: linked into a test program, it takes the place of the C
 * library's clock_gettime(), gettimeofday() and time() for the library under test as well.
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC stay what they are.
 */
#ifndef REDLOCK_TESTS_WALLCLOCK_H
#define REDLOCK_TESTS_WALLCLOCK_H

#include <stdint.h>

/* Adds to the offset of the wall clock. */
void wallclock_step_ms(int64_t ms);

#endif
