/* SPDX-License-Identifier: BSD-2-Clause */
/* The stations of a walk: what a client does, each judged by what may come of a failure. */
#ifndef REDLOCK_TESTS_INJECT_STATIONS_H
#define REDLOCK_TESTS_INJECT_STATIONS_H

#include "inject_walk.h"

enum {
    NODES = 3,
    WAIT_IN_VAIN_MS = 60,
    DONE_WITHIN_MS = 60000, /* for what hangs */
};

/* A name of this walk's own. */
void station_name_of(const struct walk *w, const char *what, char out[REDLOCK_NAME_MAX + 1]);

/* May a call of this thread end so? */
void station_check_error(const struct walk *w, const char *what, int error);
/* Asked of the servers themselves: a lock that is ours now is on a majority of them. */
void station_check_grant(struct walk *w, const redlock_lock *lock);

void lock_blocking(struct walk *w, redlock *r, const char *what, uint32_t flags);
void lock_asynchronously(struct walk *w, redlock *r);
void wait_and_cancel(struct walk *w, redlock *r);
void ask_asynchronously(struct walk *w, redlock *r);
void hold_lease(struct walk *w, redlock *r);
void look_around(struct walk *w, redlock *r);

/* The calls work again: every node comes back by itself, whatever failed before. */
void await_all_up(struct walk *w, redlock *r);

#endif
