/* SPDX-License-Identifier: BSD-2-Clause */
/* One lock as `status` and `list` show it. */
#ifndef CLI_LOCK_VIEW_H
#define CLI_LOCK_VIEW_H

#include <redlock.h>

#include "commands/inquiry.h"
#include "settings/settings.h"

/* A sentence, and node by node what each found where they differ, or with -v. */
void lock_view_text(const struct settings *s, const char *name, const redlock_info *info,
                    const redlock_report *report);

/* An object on a line of its own. `client`: NULL if a service was asked, here and below. */
void lock_view_json(redlock *client, const char *name, const redlock_info *info,
                    const redlock_report *report);

/* Reports that a lock could not be asked for, and returns the exit status. */
int lock_view_failure(const struct settings *s, const struct inquiry_answer *answer);

/* A line for each node that is in quarantine: its grants do not count. */
void lock_view_quarantine(redlock *client);

#endif
