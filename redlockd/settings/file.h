/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's file: lines of `key = value`. */
#ifndef REDLOCKD_SETTINGS_FILE_H
#define REDLOCKD_SETTINGS_FILE_H

#include "settings/settings.h"

/* A text as a file has it. 0, or -1 with a sentence in why, behind line and file if that
 * has a name. */
int settings_read_text(struct settings *settings, const char *text, char *why, size_t why_size);

/* The file that settings->config names. 0, or -1 with `file:line: sentence` in why. */
int settings_file_read(struct settings *settings, char *why, size_t why_size);

#endif
