/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The label of a lock's holder or waiter, shown to every user of the nodes: user@host:pid and
 * the command. It is part of the value of the lock, and proves nothing.
 */
#ifndef CLI_LABEL_H
#define CLI_LABEL_H

#include <redlock.h>
#include <stdbool.h>
#include <sys/types.h>

/* Copies `text`, cut to what a label may have, at a character. False: it is not printable. */
bool label_set(char out[REDLOCK_LABEL_MAX + 1], const char *text);

/* "deploy@web3:4711 (make)", from the path of a command; of a word that is NULL
 * nothing is shown. */
void label_make(char out[REDLOCK_LABEL_MAX + 1], pid_t pid, const char *word);

/* The same of the process that started this one: what it is for outlives us. */
void label_make_of_parent(char out[REDLOCK_LABEL_MAX + 1]);

#endif
