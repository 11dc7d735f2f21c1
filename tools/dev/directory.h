/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a local quorum: logs, the control socket, nothing that must last. It belongs
 * to this user, no other user can write to it, and what is in it is opened from its descriptor
 * without following links.
 */
#ifndef CLI_DEV_DIRECTORY_H
#define CLI_DEV_DIRECTORY_H

#include <stdio.h>

#include "dev/quorum.h"

/* Makes it, or takes an empty one. Returns 0 or an exit status, after saying why. */
int dev_directory_make(struct dev_quorum *q, const char *directory);

/* The log of a server, to append to: a new file, or the one that was made here before. Returns
 * -1 with errno, EEXIST if something else has its name. */
int dev_directory_open_log(const struct dev_quorum *q, int number);

/* The same log, to read from its beginning; NULL if there is none. */
FILE *dev_directory_read_log(const struct dev_quorum *q, int number);

/* Removes what this process made: all of it, or in a directory that was there, its own files. */
void dev_directory_remove(struct dev_quorum *q);

#endif
