/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock that another process took and whose value this one was given. */
#ifndef CLI_HANDOVER_H
#define CLI_HANDOVER_H

#include <redlock.h>

#include "command.h"

struct handover {
    struct settings settings;
    const char *name;
    char value[REDLOCK_VALUE_MAX + 1];
    bool stopped; /* --help was asked for and given */
    redlock *client;
    redlock_lock *lock;
};

/*
 * Reads `NAME [VALUE]` with options, opens a client and adopts the lock. VALUE is a word, - for
 * standard input, or missing for REDLOCK_VALUE. Returns 0 or an exit status, after saying why.
 */
int handover_begin(struct handover *h, const struct command *command, int argc, char **argv);

/* Reports a failed operation on it and returns the exit status. */
int handover_failed(const struct handover *h, int error, const char *text, const char *advice);

/* Frees everything. The lock itself is left as it is. */
void handover_end(struct handover *h);

#endif
