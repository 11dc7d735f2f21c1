/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board: memory that the demo shares with its workers, so that the view can show what
 * each of them does. Nothing on it takes part in the locking.
 */
#ifndef DEMO_BOARD_H
#define DEMO_BOARD_H

#include <stdatomic.h>

#define WORKERS 8
#define UPDATES_EACH 60 /* additions that every worker has to make */
#define UPDATES (WORKERS * UPDATES_EACH)

enum worker_state {
    WORKER_STARTING,
    WORKER_WAITING, /* for the lock */
    WORKER_INSIDE,  /* between reading the counter and having written it */
    WORKER_FINISHED,
    WORKER_FAILED, /* board_worker.why says it */
};

struct board_worker {
    atomic_int state; /* enum worker_state */
    atomic_uint done; /* additions made */
    char why[256];    /* written before the state becomes WORKER_FAILED, never after */
};

struct board {
    struct board_worker worker[WORKERS];
    atomic_uint inside;      /* workers inside right now */
    atomic_uint most_inside; /* the most there ever were: with the lock, one */
    atomic_uint last_count;  /* the number most recently written to the counter */
};

/* Additions made so far, by all. */
static inline unsigned board_done(const struct board *board)
{
    unsigned done = 0;
    for (unsigned i = 0; i < WORKERS; i++)
        done += atomic_load(&board->worker[i].done);
    return done;
}

#endif
