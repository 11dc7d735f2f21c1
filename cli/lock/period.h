/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * At most once per period. That a name was run is recorded on the nodes as one more lock,
 * NAME.every, which is taken under the lock NAME right before the command starts and left to
 * expire when the period has passed. So it needs neither this process nor this machine
 * afterwards, and no clock but those of the nodes, which count its time to live.
 *
 * A period may be longer than the max_ttl of the nodes. That is a bound on acquiring, because a
 * node that forgot a lock stays in quarantine for so long; the record is acquired with the TTL
 * of the lock and then extended. A node that restarts has forgotten the record when its
 * quarantine ends, so the record rests on a majority that remembers, not on the guard, and its
 * client has none.
 *
 * The record comes before the start, and counts from the start all the same: it is written for
 * PERIOD_START_MS more than the period, and a command that has not started within that time
 * never does; its record is taken back. So two starts are the whole period apart, however long
 * a process was stopped between record and start. (Not that of a whole day, beyond which no
 * lock can last.)
 *
 * Through a service it is the service that writes the record, for the lease that has the lock
 * (redlockd/once/once.h).
 */
#ifndef CLI_PERIOD_H
#define CLI_PERIOD_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock/held_lock.h"
#include "settings/settings.h"

#define PERIOD_MIN_MS 1000
#define PERIOD_MAX_MS REDLOCK_TTL_LIMIT_MS
#define PERIOD_START_MS 1000
#define PERIOD_SURE_MS 300 /* a replica gets so long to have the record */

struct period {
    int64_t period_ms;   /* 0: there is none, and none of these calls does anything */
    int64_t record_ms;   /* for so long the record is written */
    int64_t first_ms;    /* TTL with which it is acquired */
    int64_t sure_ms;     /* how long a replica may take to have it */
    int64_t start_by_ns; /* once it is written: later the command must not start */
    char name[REDLOCK_NAME_MAX + 1]; /* of the record */
    redlock *client;                 /* NULL: a service keeps the record */
    redlock_lock *lock;
    struct held_lock *under; /* under its lease the service may have the record; NULL: it has
                                not */
    char detail[HELD_LOCK_DETAIL_MAX]; /* of the last operation that failed */
    redlock_report report;             /* of the last operation that ended */
    int64_t left_ms;                   /* of a record that was found; -1: unknown */
    char by[REDLOCK_LABEL_MAX + 1];    /* its label */
};

/* Before there is a lock: connections take time. Returns 0 or an exit status,
 * after printing why. */
int period_open(struct period *p, const struct settings *s, const char *name);

/* Before it is waited for: REDLOCK_BUSY if the record is there, else OK. Waits
 * for the nodes, or the service. */
int period_look(struct period *p, const struct held_lock *held);

/*
 * Under the lock: writes the record on a majority, and renews the lock meanwhile. BUSY: it is
 * there already. LOST: the lock ended. Any other error: it could not be written. Only OK
 * leaves a record; after anything else it is closed, as by period_undo(). On a Sentinel group
 * it is waited for that a replica has the record, for a moment: warns of what a failover may
 * forget where none has.
 */
int period_begin(struct period *p, struct held_lock *held, const char *label);

/* Is it too late to start the command under the record that was written? */
bool period_is_late(const struct period *p);

/*
 * The command never started: takes the record back, and waits for that as long as for any
 * answer of the nodes. To be called before the lock is released, or the next holder would meet
 * the record and take it for a run. Then it is closed: period_open() begins anew.
 */
void period_undo(struct period *p);

/* Reports why period_look() or period_begin() failed, and returns the exit status. */
int period_report(const struct period *p, const struct settings *s, const char *name, int error,
                  int busy_status);

/* Frees it; a record that was written stays on the nodes. */
void period_close(struct period *p);

#endif
