/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's file: lines of `key = value`. */
#ifndef REDLOCKD_SETTINGS_FILE_H
#define REDLOCKD_SETTINGS_FILE_H

#include <stdio.h>

#include "settings/settings.h"

/* The file that settings->config names. 0, or -1 with a sentence in why, which has room for
 * SETTINGS_WHY_MAX bytes and begins with `file:line:` where it is about a line. */
int settings_file_read(struct settings *settings, char *why, size_t why_size);

/* The same of an open file, which is not closed. */
int settings_pairs_read(struct settings *settings, FILE *file, char *why, size_t why_size);

#endif
