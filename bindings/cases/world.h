/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clients, locks and marks of one case by their names, and the loop that drives all of them: the
 * runner has no thread, so every wait of a step lets every client go on.
 */
#ifndef REDLOCK_CASES_WORLD_H
#define REDLOCK_CASES_WORLD_H

#include <redlock.h>

#include <stdbool.h>

enum {
    CLIENTS_MAX = 8,
    LOCKS_MAX = 16,
    MARKS_MAX = 4,
    NAME_MAX_BYTES = 32,
    SAID_MAX = 1024,
    GIVE_UP_MS = 30000, /* no step waits for longer */
};

/* What became of one call: its error, the sentence about it and what the nodes said. */
struct outcome {
    bool pending;
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
    redlock_lock *lock; /* NULL: never started */
    struct outcome outcome;
    int lost_calls;
    char lost_said[SAID_MAX];
    int64_t fence; /* as it was when granted */
};

struct mark {
    char name[NAME_MAX_BYTES];
    char mark[REDLOCK_MARK_SIZE + 1];
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

/* Notes error, sentence and report; for use where redlock_detail() speaks of this error. */
void outcome_take(struct outcome *out, int error, const redlock_report *report);

/* The done callback of everything that ends with an answer; `data` is a struct outcome. */
void outcome_answered(int error, const redlock_answer *answer, void *data);

/* Lets all clients go on for at most so long; returns early when something was done. */
void world_turn(struct world *w, int timeout_ms);

/* Drives until the outcome is there; false, with a reason, if it does not come. */
bool world_await(struct world *w, struct outcome *out);

/* CLOCK_MONOTONIC */
int64_t world_now_ms(void);

/* Closes all clients and frees all handles. */
void world_end(struct world *w);

#endif
