/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a handle has only until its lock is held: what the core needs to pursue a lock, and our
 * place among the waiters of this client. A client holds many locks and pursues few at a time, so
 * this is kept apart and goes back to a pool as soon as a lock is held. Questions to the nodes
 * have one for as long as they live.
 */
#ifndef RL_ENGINE_SEEKER_H
#define RL_ENGINE_SEEKER_H

#include "core/lock.h"
#include "engine/survey.h"

#define RL_SEEKERS_KEPT 1024

struct rl_handle;
struct rl_line;

struct rl_seeker {
    struct rl_acquisition acquisition; /* first: what the lock points to is its seeker */
    struct rl_survey *survey;          /* a question instead of a lock; NULL: a lock */

    /* Waiting. */
    struct rl_line *line; /* NULL: not waiting */
    struct rl_handle *line_next;
    struct rl_handle *line_previous;
    uint64_t waiter;   /* what the line calls its first at the nodes */
    bool turn;         /* it has become the first ... */
    bool client_holds; /* ... because the one before it has the lock now */
    bool follows; /* what it sends now travels right behind the release of the one before it */

    struct rl_seeker *next_free;
};

/* Kept for the next ones, so that a busy client allocates nothing. */
struct rl_seekers {
    struct rl_seeker *free;
    size_t free_count;
};

/* The acquisition is left to rl_lock_init(). NULL: out of memory. */
struct rl_seeker *rl_seeker_new(struct rl_seekers *seekers);
void rl_seeker_give_back(struct rl_seekers *seekers, struct rl_seeker *seeker);
void rl_seekers_free(struct rl_seekers *seekers);

#endif
