/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nested holds while requests and answers are lost. An owner holds a lock and, inside it, tries
 * to hold it again and again through relays that drop requests and cut connections behind
 * executed ones. A rival tries a mutex of the same name meanwhile: it must never get it.
 */
#ifndef REDLOCK_TESTS_REENTRANT_LOAD_H
#define REDLOCK_TESTS_REENTRANT_LOAD_H

#include <stdbool.h>

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

#endif
