/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of a local quorum: logs, the control socket, nothing that must last. */
#ifndef CLI_DEV_DIRECTORY_H
#define CLI_DEV_DIRECTORY_H

#include "dev_quorum.h"

/* Makes it, or takes an empty one. Returns 0 or an exit status, after saying why. */
int dev_directory_make(struct dev_quorum *q, const char *directory);

/* Removes what this process made: all of it, or in a directory that was there, its own files. */
void dev_directory_remove(struct dev_quorum *q);

#endif
