/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child under a lock: signals are passed on, the lock is renewed, and should renewal fail,
 * the child gets a signal in time and is killed, with all it started, before the validity ends.
 */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/held_lock.h"
#include "run/child.h"

/* What becomes of the child when the lock is ending under it. */
enum on_lost {
    ON_LOST_SIGNAL, /* a signal, then KILL for processes that go on */
    ON_LOST_KILL,   /* KILL instead of the signal */
    ON_LOST_IGNORE, /* it runs on */
};

struct supervision {
    struct held_lock *held;
    struct child child;
    int signal_fd, timer_fd;
    const char *name; /* of the lock */
    enum on_lost on_lost;
    int signal;             /* of ON_LOST_SIGNAL */
    int64_t grace_ms;       /* it goes out this long before the validity ends */
    int64_t kill_margin_ms; /* and KILL this long before */
    int64_t hold_until_ns;  /* the lock is kept until then, even if the child ends before */
    int64_t end_ns;         /* the child is stopped then, with the lock held; 0: never */
    bool overtime;          /* it was */
    bool asked_to_end;      /* by a signal: INT, TERM or QUIT */
    bool cut_short;         /* a signal cut that short */
    bool terminated; /* the signal or KILL was sent because the lock was ending, or end_ns */
    bool killed;     /* KILL was sent for that reason */
    int64_t deadline_ns; /* end of the validity, as last known; kept after the loss */
    bool late;           /* something of the command was alive when the lock had ended */
    bool obeyed;         /* the child itself had ended before KILL was due */
    int reported_state;  /* enum redlock_state that the user knows */
    int64_t give_up_ns;  /* until then KILL is repeated for what does not go away */
    bool survived;       /* something did not */
};

/*
 * What must be left of the validity for the child to be started: with less it would be stopped
 * at once.
 */
int64_t supervise_start_margin_ms(const struct supervision *w);

/* How long before the end of the validity KILL is due, for a lock of this TTL. */
int64_t supervise_kill_margin_ms(int64_t ttl_ms);

/* How long before it the signal is due, unless the user sets another. */
int64_t supervise_grace_ms(int64_t ttl_ms);

/*
 * From the fork of the child until nothing keeps the lock from being released, also when the
 * child could not execute its command (child.start_error). Returns 0 or errno; then the child
 * has been killed.
 */
int supervise_child(struct supervision *w);

#endif
