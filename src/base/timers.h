/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines, earliest first: a binary heap of timers that live inside what they wake.
 *
 * Moving a timer to a later time is free: it stays where it is and, when it comes up, is put
 * back to its true time. Nearly all deadlines of a lock are moved or dropped before they pass.
 * Only the first is put back at once: its old time would wake us for nothing.
 */
#ifndef RL_BASE_TIMERS_H
#define RL_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_timer {
    int64_t due_ns;  /* when it really is due */
    int64_t heap_ns; /* where it stands in the heap: never later than due_ns */
    uint32_t place;  /* index in the heap + 1; 0: not in it */
};

struct rl_timers {
    struct rl_timer **heap;
    size_t count;
    size_t capacity;
};

/* Room for one more timer; false when out of memory. Reserve before something needs one. */
bool rl_timers_reserve(struct rl_timers *timers, size_t count);

/* Sets or moves a timer; INT64_MAX removes it. There must be room. */
void rl_timers_set(struct rl_timers *timers, struct rl_timer *timer, int64_t due_ns);

/* The earliest time at which rl_timers_due() may have something; INT64_MAX for never. */
int64_t rl_timers_next_ns(const struct rl_timers *timers);

/* Removes and returns one timer that is due, or NULL. */
struct rl_timer *rl_timers_due(struct rl_timers *timers, int64_t now_ns);

void rl_timers_free(struct rl_timers *timers);

#endif
