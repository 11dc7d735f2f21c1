/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at locks again and again without taking any: what `watch` and `wait` have in common.
 * The library tells waiters in the queue when a lock was given back, and only them; an observer
 * is none, so it asks, now and then, and when what is known must have expired.
 */
#ifndef CLI_OBSERVER_H
#define CLI_OBSERVER_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "commands/source.h"
#include "settings/settings.h"

struct observer {
    struct settings settings;
    struct source source;
    char **names; /* in front of argv */
    size_t count;
    int signal_fd;
    int signal;        /* that ended it; 0: none */
    bool needs_reader; /* the end of the reader of standard output ends it, as SIGPIPE would */
    int64_t
        expires_ns; /* when the first of the locks seen in this look expires, if not renewed */
};

/* Takes a NAME. Returns 0 or an exit status, after saying why. */
struct args;
int observer_take_name(struct observer *o, struct args *a, const char *name);

/* After the command line has been read. Returns 0 or an exit status, after saying why. */
int observer_open(struct observer *o);
void observer_close(struct observer *o);

/* Notes until when a lock that was seen lives; to be called for each of a look. */
void observer_note(struct observer *o, const redlock_info *info, const redlock_report *report);

/*
 * Sleeps until the next look: for `delay_ms`, or until the first of the noted locks must have
 * expired, but not past `end_ns`. False: a signal ended it.
 */
bool observer_sleep(struct observer *o, int64_t delay_ms, int64_t end_ns);

#endif
