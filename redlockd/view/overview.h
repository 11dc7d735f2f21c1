/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overview: the nodes are queried for all locks, for GET /v1/status?locks=N and so for the
 * page. Only while requests wait for it, however many, one look after another: the next begins
 * OVERVIEW_PAUSE times as long after the last one as that took, and not before
 * OVERVIEW_EVERY_NS. So it takes a small part of the nodes' time, and of ours, whatever they
 * hold.
 *
 *     wait --> a look that begins after it: list the names of every quorum, query each lock
 *          `-> OVERVIEW_PATIENCE_NS is over first: what the last look found has to do
 *
 * Beyond OVERVIEW_LOCKS_MAX names the locks that were contended in the last look are queried
 * again, and the others in turns.
 */
#ifndef REDLOCKD_VIEW_OVERVIEW_H
#define REDLOCKD_VIEW_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leases/leases.h"

#define OVERVIEW_LOCKS_MAX 1000
#define OVERVIEW_NAMES_MAX 65536 /* remembered during a look: 64 doubled some times */
#define OVERVIEW_SHOWN 3         /* holders that are named */
#define OVERVIEW_EVERY_NS (250 * RL_NS_PER_MS)
#define OVERVIEW_PATIENCE_NS (400 * RL_NS_PER_MS)
#define OVERVIEW_PAUSE 9

struct overview_lock {
    enum job_type job_type; /* first: the data of a job */
    char *name;             /* owned */
    bool answered;
    bool held;
    bool disagree;  /* the nodes did not all agree, in this look and in the one before, and
                      no quarantine explains it */
    bool differed;  /* in this look */
    bool is_record; /* of a run: it has no holder, and nodes may have forgotten it */
    bool held_at_least;
    int32_t kind; /* -1: unknown */
    uint32_t holder_count, slots;
    uint32_t waiters; /* at the nodes: of one client, however many of it wait, one */
    uint32_t waiters_here;
    uint32_t shown;  /* holders in label and fingerprint */
    int64_t held_ms; /* of the one that has held for longest; -1: unknown */
    int64_t
        remaining_ms; /* until the last holder's time is over; -1: unknown, or without end */
    char label[OVERVIEW_SHOWN][REDLOCK_LABEL_MAX + 1]; /* empty: none */
    char fingerprint[OVERVIEW_SHOWN][REDLOCK_FINGERPRINT_SIZE + 1];
};

/* Part of what waits. `done` may free it. */
struct overview_wait {
    struct overview_wait *previous, *next;
    int64_t since_ns;
    void (*done)(struct overview_wait *wait);
};

struct overview {
    enum job_type job_type; /* first: the data of its jobs for names */
    struct loop_part part;
    struct leases *leases;
    struct overview_wait *waits;
    /* The last look. */
    struct overview_lock *locks; /* owned; in the order of importance */
    size_t count;
    size_t unasked;    /* names that were not queried */
    int64_t looked_ns; /* when it was over; 0: there was none */
    int error;         /* of a quorum that could not be queried; 0: all could */
    char detail[2 * REDLOCK_TEXT_MAX];
    /* The one that is under way. */
    bool is_under_way;
    int64_t began_ns;
    int64_t next_ns; /* not before then */
    unsigned lists;  /* without an answer */
    unsigned failed, quorums;
    char **names; /* owned; in the order of their bytes, quorum by quorum */
    size_t name_count, name_room;
    size_t unlisted; /* names beyond these */
    size_t cursor;   /* of more names than can be queried: where the next look begins */
    struct overview_lock *queried; /* owned */
    size_t queried_count, pending;
};

void overview_init(struct overview *overview, struct leases *leases);
/* After the client is closed. */
void overview_free(struct overview *overview);

/* done() is called, not from here, when a look is over that began after this,
 * or patience is. */
void overview_await(struct overview *overview, struct overview_wait *wait, int64_t now_ns);
/* It is gone: done() is not called. */
void overview_forget(struct overview *overview, struct overview_wait *wait);

/* What the nodes report: the names of a quorum; a lock, which is the data of the job. */
void overview_listed(struct overview *overview, const redlock_event *event);
void overview_answered(struct overview *overview, const redlock_event *event);

/* All that wait for it, as far as this replica and the nodes know. */
uint32_t overview_waiters(const struct overview_lock *lock);

/* A part of the loop. */
int64_t overview_turn(void *overview, int64_t now_ns);

#endif
