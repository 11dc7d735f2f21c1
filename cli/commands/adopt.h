/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that another process took and whose value this one was given: one, or those of several
 * names that were taken together.
 */
#ifndef CLI_ADOPT_H
#define CLI_ADOPT_H

#include <redlock.h>

#include "settings/command.h"

struct adopted_locks {
    struct settings settings;
    const char *name[REDLOCK_NAMES_MAX];
    size_t name_count;
    char value[REDLOCK_VALUE_MAX + 1];
    bool stopped; /* --help was asked for and given */
    redlock *client;
    redlock_lock *lock[REDLOCK_NAMES_MAX]; /* of each name */
};

/* What a command does with each of them, and how it tells of it. */
struct adopt_operation {
    int (*act)(const struct adopted_locks *h, size_t index); /* an enum redlock_error */
    void (*succeeded)(const struct adopted_locks *h, size_t index);
    int (*failed)(const struct adopted_locks *h, size_t index, int error); /* the exit status */
};

/*
 * Reads `NAME [VALUE]` or `NAME... VALUE` with options, opens a client, adopts the lock of every
 * name and does the operation to each. VALUE is a word, - for standard input, or missing for
 * REDLOCK_VALUE. Returns the exit status: of what failed first, after saying why. The locks are
 * left as the operation leaves them.
 */
int adopt_each(const struct command *command, int argc, char **argv,
               const struct adopt_operation *operation);

/* Reports a failed operation on one of them and returns the exit status. */
int adopt_report_failure(const struct adopted_locks *h, size_t index, int error,
                         const char *text, const char *advice);

#endif
