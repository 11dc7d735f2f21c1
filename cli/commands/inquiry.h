/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about many locks: which are there, and what is known of each. */
#ifndef CLI_INQUIRY_H
#define CLI_INQUIRY_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>

#include "commands/source.h"
#include "settings/settings.h"

/* Names of locks, gathered first: the nodes cannot be asked while they are listed. */
struct names {
    char **name; /* owned, in the order of their bytes */
    size_t count;
    size_t misplaced; /* in a quorum where they do not live; not among the names */
    bool cut;         /* there may be more */
};

/* Does it match one of the patterns, as names of files do in a shell? True if
 * there are none. */
bool names_match(const char *name, char *const *pattern, size_t count);

/* Is this one wanted? */
typedef bool names_want_fn(const char *name, void *data);

/*
 * The names of every quorum that answers. Returns 0, or an exit status after saying why: a
 * quorum that does not answer hides only its own, and `names` has the others.
 */
int names_list(struct names *names, struct source *source, const struct settings *s,
               names_want_fn *want, void *data);

/* Warns of names that are misplaced or missing. */
void names_warn(const struct names *names);

void names_free(struct names *names);

/* One answer: `error` as redlock_query(), and the library's words for it. False
 * ends the inquiry. */
struct inquiry_answer {
    const char *name;
    int error;
    const char *detail;
    const redlock_info *info;
    const redlock_report *report;
};
typedef bool inquiry_fn(const struct inquiry_answer *answer, void *data);

/*
 * Asks for each name, many at a time, and tells the answers in that order. Returns 0, or an
 * exit status after saying why.
 */
int inquire(struct source *source, const struct settings *s, char *const *name, size_t count,
            inquiry_fn *each, void *data);

#endif
