/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at locks without taking any: which are there, and what is known of each, from the
 * nodes or from a redlockd that queries its own; once, or again until a signal.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/show.h"
#include "service/call.h"
#include "settings/command.h"

/*
 * A subcommand that looks. Its functions return 0 or an exit status, after printing why, and
 * get what look_main() was called with, which is the first member of the subcommand's own data.
 */
struct look_command {
    bool patterns;   /* its words are patterns of names; else names */
    bool needs_name; /* one at least */
    bool signals;    /* are events, for look_sleep() */
    int (*option)(void *data, int id, const char *value); /* NULL: the table stores all */
    int (*check)(void *data); /* the whole command line; NULL: there is nothing to check */
    int (*run)(void *data);
};

struct look {
    struct settings settings;
    const struct look_command *own;
    redlock *client; /* NULL: a service is queried */
    redlock *member; /* the only quorum of it whose locks are listed; NULL: all are */
    struct service service;
    char **name; /* the words of the command line, in front of argv */
    size_t count;
    char detail[SERVICE_DETAIL_MAX]; /* of the last call that failed */
    /* The first lock of the last look_at() that is unknown; `error` is 0: all are known. */
    struct snapshot failed;
    char failed_detail[SERVICE_DETAIL_MAX];
    redlock_report failed_report;

    /* For look_sleep(). */
    int signal_fd;
    int signal;         /* that ended it; 0: none */
    bool needs_reader;  /* the end of the reader of standard output ends it, as SIGPIPE would */
    int64_t expires_ns; /* when the first lock of the last look expires, if not renewed */
};

/* Reads the command line, opens what is to be queried, runs. Returns the exit status. */
int look_main(struct look *l, const struct command *command, int argc, char **argv,
              const struct look_command *own);

/* ---- which are there ---- */

/* Gathered before they are looked at: nodes cannot be queried while they are listed. */
struct names {
    char **name; /* owned, in the order of their bytes */
    size_t count;
    size_t misplaced; /* in a quorum where they do not live; not among the names */
    bool cut;         /* there may be more */
};

/*
 * Adds the names of quorum `index`, or of the service, that match one of the look's words, as
 * names of files do in a shell, or all if it has none. Returns REDLOCK_OK, or an error, for
 * which `detail` has the words.
 */
int look_names_of(struct look *l, struct names *names, size_t index);

/*
 * The same of every quorum. One that does not answer hides only its own names: that is
 * reported, and the exit status returned.
 */
int look_names(struct look *l, struct names *names);

/* Warns of names that are misplaced or missing. */
void names_warn(const struct names *names);
void names_free(struct names *names);

/* ---- what is known of each ---- */

/* Takes what was found of a lock, which is gone after the call; false ends the look. */
typedef bool look_fn(const struct snapshot *s, void *data);

/*
 * Looks at each name, many at a time, and shows the answers in that order. Returns 0, or an
 * exit status after printing why.
 */
int look_at(struct look *l, char *const *name, size_t count, look_fn *each, void *data);

/* Reports that a lock is unknown, and returns the exit status. */
int look_fail(const struct look *l, const struct snapshot *s);

/* As redlock_break(), with the words for an error in `detail`. */
int look_break(struct look *l, const char *name, const char *fingerprint,
               redlock_report *report);

/*
 * Sleeps until the next look: for `delay_ms`, or until the first of the locks must have
 * expired, but not past `end_ns`. False: a signal ended it.
 */
bool look_sleep(struct look *l, int64_t delay_ms, int64_t end_ns);

#endif
