/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked into a program or preloaded into a server, takes the place of the C library's
 * clock_gettime(), gettimeofday() and time(): the wall clock is the machine's plus an offset.
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC stay what they are.
 */
#ifndef REDLOCK_TESTS_STEPPED_CLOCK_H
#define REDLOCK_TESTS_STEPPED_CLOCK_H

#include <stdint.h>

/* Defined by the user of this file: asked at every reading. */
int64_t stepped_clock_offset_ms(void);

#endif
