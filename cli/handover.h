/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that another process took and whose value this one was given: one, or those of several
 * names that were taken together.
 */
#ifndef CLI_HANDOVER_H
#define CLI_HANDOVER_H

#include <redlock.h>

#include "command.h"

struct handover {
    struct settings settings;
    const char *name[REDLOCK_NAMES_MAX];
    size_t name_count;
    char value[REDLOCK_VALUE_MAX + 1];
    bool stopped; /* --help was asked for and given */
    redlock *client;
    redlock_lock *lock[REDLOCK_NAMES_MAX]; /* of each name */
};

/*
 * Reads `NAME [VALUE]` or `NAME... VALUE` with options, opens a client and adopts the lock of
 * every name. VALUE is a word, - for standard input, or missing for REDLOCK_VALUE. Returns 0 or an
 * exit status, after saying why.
 */
int handover_begin(struct handover *h, const struct command *command, int argc, char **argv);

/* Reports a failed operation on one of them and returns the exit status. */
int handover_failed(const struct handover *h, size_t index, int error, const char *text,
                    const char *advice);

/* Frees everything. The locks themselves are left as they are. */
void handover_end(struct handover *h);

#endif
