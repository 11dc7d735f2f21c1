/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `redlock run` runs in the rig: a program that writes into the history that it holds the
 * lock, every few milliseconds, until its standard input ends. Its claim lasts for as long as
 * it runs, whatever time is left: `run` has to end it before the lock does.
 */
#ifndef REDLOCK_CHAOS_HOLDER_H
#define REDLOCK_CHAOS_HOLDER_H

/* In the environment: the descriptor of the history, and what all records of the hold
 * have in common. */
#define HOLDER_ABOUT "CHAOS_HOLD"
#define HOLDER_FORMAT "%d %hu %hu %u %hhu %u %hhu" /* worker life hold kind names flags */

#endif
