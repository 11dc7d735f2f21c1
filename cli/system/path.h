/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking for programs the way a shell does. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include <stdbool.h>

#define PATH_FIND_MAX 4096

/* The program `name`, a path or to be searched for in PATH, as a file that can be executed or
 * (`any`) just is there. False when there is none; `out` is then of no use. */
bool path_find(const char *name, bool any, char out[PATH_FIND_MAX]);

#endif
