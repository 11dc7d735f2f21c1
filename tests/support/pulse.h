/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How late the machine is. A thread of the runner, outside the process of the case, wants to
 * run every few milliseconds and adds up by how much it came late. Tests that judge by time
 * allow as much more: on a calm machine that is nothing. They run alone (tests/alone): beside
 * others a test judges by no time.
 */
#ifndef REDLOCK_TESTS_PULSE_H
#define REDLOCK_TESTS_PULSE_H

#include <stdint.h>

/* Before the case is forked: its processes see the same sum. */
void pulse_prepare(void);

/* Around the life of a case, in the runner. */
void pulse_start(void);
void pulse_stop(void);

/* Milliseconds that the machine was late since the case began, all together. */
int64_t pulse_late_ms(void);

/* What a loaded machine may add to a measured time, and a single reading at that. */
#define SLACK_MS (150 + pulse_late_ms())

/*
 * Milliseconds in which some process of the machine wanted a processor or a disk and waited for
 * it, since the machine started; 0 where the kernel does not report. For differences around
 * something short in which the test itself has nothing to do: sleepers, such as the pulse, are
 * served first, and may be in time where a chain of processes is not.
 */
int64_t pulse_stalled_ms(void);

#endif
