/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that another process took and whose value this one was given: one, or those of several
 * names that were taken together.
 */
#ifndef CLI_ADOPT_H
#define CLI_ADOPT_H

#include "settings/command.h"

/* What a failed operation means for the user. A table of them ends with error 0. */
struct adopt_words {
    int error;        /* enum redlock_error */
    const char *text; /* NULL: the library's */
    const char
        *held; /* instead, with the holder behind it, if there is one; NULL: not asked for */
    const char *advice; /* NULL: the usual for this error */
};

/*
 * Reads `NAME [VALUE]` or `NAME... VALUE` with options, opens a client, adopts the lock of
 * every name, and renews or else releases each. VALUE is a word, - for standard input, or
 * missing for REDLOCK_VALUE. Returns the exit status: of what failed first, after saying why.
 */
int adopt_each(const struct command *command, int argc, char **argv, bool renew,
               const struct adopt_words *words);

#endif
