/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clients, locks and marks of one case by their names. The library's own thread drives each
 * client.
 */
#ifndef REDLOCK_CASES_WORLD_H
#define REDLOCK_CASES_WORLD_H

#include <redlock.h>

#include <stdbool.h>
#include <stddef.h>

enum {
    CLIENTS_MAX = 8,
    LOCKS_MAX = 16,
    MARKS_MAX = 4,
    NAME_MAX_BYTES = 32,
    SAID_MAX = 1024,
    GIVE_UP_MS = 30000, /* no step waits for longer */
    AGAIN_MS = 20,      /* between two looks at what is awaited */
};

/* What became of one call: its error, the sentence about it and what the nodes replied. */
struct outcome {
    int error;
    char said[SAID_MAX];
    redlock_report report;
};

struct actor {
    char name[NAME_MAX_BYTES];
    redlock *client; /* NULL: closed */
};

struct held {
    char name[NAME_MAX_BYTES];
    redlock *client;    /* of the lock; NULL: never started */
    redlock_lock *lock; /* NULL: never started */
    bool is_pending;    /* the acquisition has no outcome yet */
    struct outcome outcome;
    int losses; /* events LOST */
    char lost_said[SAID_MAX];
    int64_t fence; /* as it was when granted */
};

struct mark {
    char name[NAME_MAX_BYTES];
    char mark[REDLOCK_FINGERPRINT_SIZE + 1];
};

struct world {
    struct actor actor[CLIENTS_MAX];
    struct held held[LOCKS_MAX];
    struct mark mark[MARKS_MAX];
    const char *command;    /* path of `redlock` */
    char why[2 * SAID_MAX]; /* the first thing that was not as expected; empty: none */
};

/* Each finds the entry of this name or takes a free one; exits if there are too many. */
struct actor *world_actor(struct world *w, const char *name);
struct held *world_held(struct world *w, const char *name);
struct mark *world_mark(struct world *w, const char *name);

/* Notes why the case has failed, unless it has already; returns false. */
__attribute__((format(printf, 2, 3))) bool world_fail(struct world *w, const char *format, ...);

/* Notes what a blocking call returned; `report` is that of a success, and may be NULL. */
void outcome_take(struct outcome *out, int error, const redlock_report *report);

/* Takes the events of the lock's client for at most so long; returns after the first. */
void world_turn(struct world *w, struct held *held, int timeout_ms);

void world_sleep(int64_t ms);

/* CLOCK_MONOTONIC */
int64_t world_now_ms(void);

/* Closes all clients and frees all handles. */
void world_end(struct world *w);

#endif
