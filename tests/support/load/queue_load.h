/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may happen to waiters, as functions that return what became of them: the tests of the
 * queue check the promise, and the tests of libraries with one rule broken check that it is
 * missed. Each starts a cluster of five, in the trouble that is asked for.
 */
#ifndef REDLOCK_TESTS_QUEUE_LOAD_H
#define REDLOCK_TESTS_QUEUE_LOAD_H

#include <stdint.h>

#include "crowd.h"

/*
 * No time: a waiter may be served a millisecond before the TTL of the one ahead ends by our
 * clock.
 */
enum { NOT_SERVED = INT32_MIN };

/* The first in the queue is killed, the holder releases: ms until the second is served. */
int64_t after_dead_head_ms(enum trouble trouble, int64_t limit_ms);

/* The holder is killed: ms by which the next is served after the TTL's end. */
int64_t after_dead_holder_ms(enum trouble trouble, int64_t limit_ms);

/* Every subscription is cut, again and again: ms from the release to the next grant. */
int64_t without_messages_ms(enum trouble trouble, int64_t limit_ms);

/*
 * The first in the queue loses the majority while it waits: ms until the second, which has one,
 * is served. One node is down, so that it needs a node that the first one can still reach.
 */
int64_t behind_a_minority_ms(int64_t limit_ms);

/*
 * Three of five nodes are another's. Keys of our own that are found on the two others between
 * the attempts of a waiter and `limit_ms` after its wait; must be none.
 */
int left_by_failed_rounds(int64_t limit_ms);

/* A wait was not long enough: on how many nodes its place is still there afterwards. */
int places_after_timeout(void);

#endif
