/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads: what may happen to holders and waiters, as functions that return what became of them.
 * A test checks that the promise is kept, and tests/broken, with one rule switched off, that
 * the same load misses it.
 */
#ifndef REDLOCK_TESTS_LOADS_H
#define REDLOCK_TESTS_LOADS_H

#include "check.h"
#include "crowd.h"
#include "kinds_load.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Tokens under stress: many processes, acquires lost on the way, nodes hung, connections cut,
 * nodes killed and let in again after the guard time. Every acquisition that starts after
 * another one of the same name completed must have a larger token, and none comes twice.
 */
/* Runs until so many acquisitions have been made; how many were out of order. */
int fencing_disorders(int acquisitions, int64_t limit_ms);

/* How many to make: REDLOCK_STRESS_ACQUISITIONS, or what takes some seconds. */
int fencing_acquisitions(void);

/*
 * Handing a lock over: processes that queue for one name, each holding it for a moment, and the
 * time from a holder's release to the next waiter's return from its call. The way to every node
 * and back takes so long that a busy machine adds little to it: round trips are measured.
 */
struct handover {
    int64_t acquire_us; /* median of an uncontended acquire in the same run, same request */
    int64_t plain_us;   /* the same without REDLOCK_FAIR: a SET instead of a script */
    int64_t median_us;
    int64_t worst_us; /* nine of ten are quicker */
    int count;
};

/* On a way of so long to a node; so many handovers, or what happened within the time. */
struct handover handover_measure(enum trouble trouble, int way_ms, int count, int64_t limit_ms);

/*
 * Newcomers that could keep a waiter away: a client that requests again in the very write that
 * gives the lock back, so that its request is at every node before a waiter can know of
 * the release; or a few that try all the time.
 *
 * Beside one that requests again at once: how many of `services` waits ended with the lock.
 */
int hog_beside_asker(uint32_t flags, int services, int64_t wait_ms);

/* How often a waiter is served beside several processes that try in a loop. */
int hog_beside_triers(int services, int64_t wait_ms);

/* Many waiters of one client for one name: the places they take and the order of service. */
struct local_queue {
    int longest;   /* queue that was seen on any node */
    int served;    /* waiters */
    int disorders; /* waiters that were served before one that had called earlier */
};

struct local_queue local_queue_run(int waiters);

/*
 * Nested holds while requests and answers are lost. An owner holds a lock and, inside it, tries
 * to hold it again and again through relays that drop requests and cut connections behind
 * executed ones. A rival tries a mutex of the same name meanwhile: it must never get it.
 */
struct reentrant_outcome {
    int nested;     /* nested holds that were won */
    int failed;     /* nested attempts that were not */
    int intrusions; /* how often the rival got the lock */
    int left;       /* 1: something stayed on a node after the last release */
};

/*
 * processes 0: the nested holds are of the client that has the outer one, and its owner is the
 * client itself; else they are of so many processes that know the owner's name. Without noise
 * nothing is lost.
 */
struct reentrant_outcome reentrant_load(int processes, int iterations, unsigned seed,
                                        bool noise);

/* Processes that want one of k permits while nodes fail: the most that held one at a time. */
struct load *semaphore_load(uint32_t slots, size_t nodes, int64_t run_ms, unsigned faults,
                            unsigned seed);

/*
 * Three clients that each cannot reach another one of three nodes want a semaphore of two: how
 * many of them hold it at the same time.
 */
int semaphore_partitioned(void);

/* A stream of readers that never ends by itself, and one writer that wants in. */
struct shared_outcome {
    int error;   /* of the writer's acquire */
    int readers; /* holds that the readers got while it waited */
};

struct shared_outcome shared_stream(int64_t wait_ms);

/*
 * New clients that meet: they subscribe while the first locks are already changing hands, and
 * collide on every node.
 */
enum { WAKEUP_ROUNDS = CHECK_SANITIZED ? 30 : 100 };

/* In how many rounds, up to enough, was a waiter served by a timer for want of a message? */
int wakeup_lost(uint32_t flags, int rounds_max, int enough);

/*
 * Waiters of a cluster of five, in the trouble that is requested. NOT_SERVED is no time: a
 * waiter may be served a millisecond before the TTL of the one ahead ends by our clock.
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
