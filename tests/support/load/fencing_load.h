/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tokens under stress: many processes, acquires lost on the way, nodes hung, connections cut,
 * nodes killed and let in again after the guard time. Every acquisition that starts after
 * another one of the same name completed must have a larger token, and none comes twice.
 */
#ifndef REDLOCK_TESTS_FENCING_LOAD_H
#define REDLOCK_TESTS_FENCING_LOAD_H

#include <stdint.h>

/* Runs until so many acquisitions have been made; how many were out of order. */
int fencing_disorders(int acquisitions, int64_t limit_ms);

/* How many to make: REDLOCK_STRESS_ACQUISITIONS, or what takes some seconds. */
int fencing_acquisitions(void);

#endif
