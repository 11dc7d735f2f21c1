/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked about locks: the nodes, or with --service a redlockd, which asks its own. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <redlock.h>
#include <stdbool.h>

#include "service/ask.h"
#include "settings/settings.h"

struct source {
    redlock *client; /* NULL: a service is asked, or none is open */
    struct service service;
    char detail[SERVICE_DETAIL_MAX]; /* of the last call that failed */
};

/* After settings_complete(). 0, or an exit status after saying why. */
int source_open(struct source *s, struct settings *settings);
void source_close(struct source *s, const struct settings *settings);

/* As redlock_query() and redlock_break(), with the words for an error in `detail`. */
int source_query(struct source *s, const char *name, redlock_info *info,
                 redlock_report *report);
int source_break(struct source *s, const char *name, const char *fingerprint,
                 redlock_report *report);

#endif
