/* SPDX-License-Identifier: BSD-2-Clause */
/* All locks that are there. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <redlock.h>
#include <stddef.h>

#include "commands/source.h"
#include "settings/settings.h"

/* Shows those whose name matches one of the patterns, or all. Returns the exit status. */
int list_locks(const struct settings *s, struct source *source, char *const *pattern,
               size_t count);

#endif
