/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that wait for redlock_next().
 *
 * What waits about a lock lives in the lock: the types of its events, in the order in which
 * they happened, at most one of a kind. Locks with events are in one of two lists, and those
 * with a loss or jeopardy in the one that is read first. Answers wait in the list of finished
 * jobs, warnings in a ring. So nothing is allocated for an event, and what is never read takes
 * no room.
 *
 * The driver adds events at the end of each iteration; rl_event_take() removes the next one and
 * fills in what the caller of redlock_next() gets. The mutex guards all of it.
 */
#ifndef RL_DRIVE_EVENTS_H
#define RL_DRIVE_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "redlock.h"

#define RL_UNREAD_MAX 4 /* a place, an outcome, jeopardy, a loss */
#define RL_WARNING_MAX 320

TAILQ_HEAD(rl_event_locks, redlock_lock);

/* Where a lock with unread events is; no pointer, since a client may have very many locks. */
enum rl_event_list { RL_IN_NO_LIST, RL_IN_URGENT, RL_IN_OTHERS };

/* The events of one lock that its owner has not read. */
struct rl_unread {
    TAILQ_ENTRY(redlock_lock) in_list;
    uint32_t place; /* of QUEUED: the pending acquire may be gone when it is read */
    uint8_t list;   /* enum rl_event_list */
    uint8_t count;
    uint8_t type[RL_UNREAD_MAX]; /* enum redlock_event_type, as they happened */
    int8_t outcome;              /* the error of ACQUIRED, EXTENDED or RELEASED */
    int8_t jeopardy;             /* the error of JEOPARDY */
};

struct rl_warning {
    char address[REDLOCK_ADDRESS_MAX];
    enum redlock_reason reason;
    char text[RL_WARNING_MAX];
};

struct rl_events {
    struct rl_event_locks urgent; /* with LOST or JEOPARDY */
    struct rl_event_locks others;
    uint32_t count; /* of the events of all locks */
    uint32_t drain; /* events that the drain under way may still return */
    struct rl_warning warning[REDLOCK_WARNINGS_KEPT];
    uint32_t first_warning;
    uint32_t warning_count;
    uint32_t dropped; /* warnings, since the last that was returned */
};

/*
 * The side of redlock_next(), which the members of several quorums share: whom it reads, what
 * it has returned, until its next call, and the bell, a descriptor that is readable while
 * events wait.
 */
struct rl_reader {
    size_t count;
    redlock *member[REDLOCK_QUORUMS_MAX]; /* of one quorum: the client itself */
    int driven_fd; /* what an iteration waits for, of all members; -1: I/O threads drive */
    int bell_fd;
    atomic_bool is_awaited; /* a thread may wait for the bell; else it is not rung */
    atomic_bool is_rung;    /* the bell is readable, or about to be */
    int fd;                 /* redlock_fd(), once it was called; -1: it was not */
    atomic_flag is_busy;    /* a thread is in redlock_next() */
    bool is_draining;       /* it has returned events and not yet 0 */
    /*
     * While it is draining: the thread that got the last event, and whether more events wait.
     */
    _Atomic(const void *) taker;
    atomic_bool has_more;
    size_t next_member; /* of several quorums: the first to look at for an event */
    redlock_event event;
    char detail[1024];
    struct rl_warning warning;
    struct rl_job *job; /* whose answer was returned */
};

/* How many wait. */
uint32_t rl_events_waiting(const redlock *client);

/* The last of its kind replaces an earlier one that was not read. */
void rl_event_add(redlock *client, redlock_lock *lock, enum redlock_event_type type);
/* Its owner will read none of them. */
void rl_events_purge(redlock *client, redlock_lock *lock);
void rl_event_warn(redlock *client, const char *address, enum redlock_reason reason,
                   const char *text);

/* The next one, if there is one; urgent: only of a lock with a loss or jeopardy. */
bool rl_event_take(redlock *client, struct rl_reader *reader, bool urgent);

/* Frees what the last event pointed to. */
void rl_reader_clear(struct rl_reader *reader);

#endif
