/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three nodes and two clients of theirs, each with an I/O thread: for tests in which what one
 * client has goes to the other. The names are short since nearly every line of such a test has
 * one of them.
 */
#ifndef REDLOCK_TESTS_PAIR_H
#define REDLOCK_TESTS_PAIR_H

#include "servers.h"

#include <redlock.h>

extern struct cluster c;
extern redlock *a, *b;

void pair_begin(void); /* CASES_BEGIN_WITH(pair_begin); */

/* Releases and frees: nothing of any lock is left on the nodes. */
void pair_release(redlock_lock *lock);

#endif
