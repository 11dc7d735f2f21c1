/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait for a lock as its user sees it: the line that a terminal shows meanwhile, and the
 * report that it was in vain.
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#define LIVE_TICK_NS 100000000LL
#define LIVE_LINE_MAX 1024

struct held_lock;
struct settings;
struct terms;

struct live {
    const struct terms *terms;
    redlock *client;
    const redlock_lock *lock;
    bool wanted; /* neither -q nor -n was given */
    bool on;     /* and standard error is a terminal on which a line can be drawn */
    bool known;  /* `info` describes a holder */
    int error;   /* of the last query */
    bool queried;
    int64_t started_ns;
    int64_t queried_ns;
    int64_t quiet_ns; /* from then on nothing is sent: the wait must end in time */
    redlock_info info;
};

/* `deadline_ns` is the end of the wait; TIMER_NEVER: there is none. */
void live_begin(struct live *l, const struct terms *terms, redlock *client,
                const redlock_lock *lock, const struct settings *s, int64_t deadline_ns);

/* Draws the line anew. Queries the nodes once a second for the holder. */
void live_draw(struct live *l);

/*
 * "waiting for backup: 3rd in line, held by alice@web1:17 (make), for 3.1 s, up to 12.0 s
 * more", with less of it where it would not fit into `columns`.
 */
void live_describe(struct live *l, char line[LIVE_LINE_MAX], size_t columns);

/* Reports BUSY or TIMEOUT of an acquisition: what holds the lock, for how long, and how many
 * wait. Returns `status`. */
int busy_report(struct held_lock *h, const struct settings *s, const struct terms *terms,
                int error, int status);

#endif
