/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one queue of everything that will happen, by true time; what was put in first comes first
 * among equals. Nothing is ever taken out: an event carries a stamp, and its handler ignores it
 * when the subject's stamp has changed since.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_world;

typedef void sim_event_fn(struct sim_world *world, void *subject, uint64_t stamp);

struct sim_event {
    int64_t at_ns;
    uint64_t number; /* in order of insertion */
    sim_event_fn *run;
    void *subject;
    uint64_t stamp;
};

struct sim_events {
    struct sim_event *heap;
    size_t count;
    size_t capacity;
    uint64_t number;
};

void sim_events_add(struct sim_events *events, int64_t at_ns, sim_event_fn *run, void *subject,
                    uint64_t stamp);
bool sim_events_take(struct sim_events *events, struct sim_event *out);
void sim_events_free(struct sim_events *events);

#endif
