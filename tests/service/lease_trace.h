/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lease rules as golden traces. A line is
 *
 *     [ms] event word... -> action, action: STATE
 *
 * event: put, resume, post, delete (the request itself); `again` before one of them: another
 * request of the id; queued N, acquired, extended, released, lost, sent, gone, cut, tick,
 * ruled, drain, failed. word: an error of the library; stream, tcp (else local), leave; eof,
 * draining, GRANTED or ENDED (what is remembered), other (it requests something else, or by
 * another name), waited (it has ended a wait), streams (its Grant is that of a stream),
 * ungranted (it has none), full (no room), denied (no right), unseen, written, older, until=MS
 * (the deadline of the lock).
 */
#ifndef REDLOCK_TESTS_LEASE_TRACE_H
#define REDLOCK_TESTS_LEASE_TRACE_H

/* A lease of 30 s, of which the drift allowance takes 1 %. Comments come every 10 s. */
void lease_trace(const char *text);

#endif
