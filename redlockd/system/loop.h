/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one event loop of the daemon, on the library's reactor and clock.
 *
 * A *source* is a descriptor and what is called when epoll reports it. A *part* is a piece of
 * the daemon that has deadlines or work left over from a turn: the HTTP server, the library's
 * client, the watchdog. A turn waits for events, calls their sources, and then the parts that
 * are due, and no other; the loop waits no longer than until the next one is.
 *
 * A source that is removed during a turn gets no event of that turn any more, and its number is
 * not given to another before the turn is over: events of a batch cannot reach the wrong one.
 */
#ifndef REDLOCKD_SYSTEM_LOOP_H
#define REDLOCKD_SYSTEM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "io/reactor.h"

/* Lives inside of what it serves. Its owner sets `ready`; the rest is the loop's. */
struct loop_source {
    void (*ready)(struct loop_source *source, uint32_t events);
    int fd;
    uint32_t slot; /* index in loop->slots */
    bool is_later; /* in loop->later */
    struct loop_source *next_later, **previous_later;
};

/*
 * Lives inside of what it calls. `turn` does what is due at now_ns and returns when it wants to
 * be called next: RL_NEVER_NS for "not by time", 0 for "at once, after a look at what else is
 * ready". loop_due() moves that forward, also from inside of its turn.
 */
struct loop_part {
    int64_t due_ns; /* loop_due() */
    void *context;
    int64_t (*turn)(void *context, int64_t now_ns);
    struct loop_part *next;
    bool is_watching; /* called with every turn: it waits for what others do */
};

struct loop_slot {
    struct loop_source *source; /* NULL: free, or freed in this turn */
    uint32_t next_free;
};

struct loop {
    struct rl_reactor reactor;
    struct loop_slot *slots;
    uint32_t slot_count;
    uint32_t free_slot;                      /* UINT32_MAX: none */
    uint32_t freed_slot;                     /* freed in this turn, free after it */
    struct loop_source *later, **last_later; /* with work left, in the order of it */
    unsigned later_count;
    struct loop_part *parts; /* in the order in which they were added */
    uint64_t turns;          /* so far */
    int64_t now_ns;          /* when this turn had its events, or its last pass began */
    bool stopped;
};

/* -1 with errno, also below. */
int loop_init(struct loop *loop);
void loop_free(struct loop *loop);

/* events as for epoll; `source` must stay where it is until it is removed. */
int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events);
int loop_change(struct loop *loop, struct loop_source *source, uint32_t events);
/* Before its descriptor is closed. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Calls `ready` once more, without events, before the loop waits again: there is work left. */
void loop_later(struct loop *loop, struct loop_source *source);

/* Its first turn is at once. */
void loop_add_part(struct loop *loop, struct loop_part *part, void *context,
                   int64_t (*turn)(void *context, int64_t now_ns));

/* It has something to do at that time, if not before. */
static inline void loop_due(struct loop_part *part, int64_t due_ns)
{
    if (due_ns < part->due_ns)
        part->due_ns = due_ns;
}

/* It was given work: it is called before the loop waits again. */
static inline void loop_wake(struct loop_part *part)
{
    part->due_ns = 0;
}

/* Turns until loop_stop(). */
void loop_run(struct loop *loop);
/* One turn, which waits for at most timeout_ms (-1: for the next event). For tests. */
void loop_turn(struct loop *loop, int timeout_ms);
void loop_stop(struct loop *loop);

#endif
