/* SPDX-License-Identifier: BSD-2-Clause */
/* What the counted process does: the loads of cost.c, each in its steady state. */
#ifndef REDLOCK_TESTS_COST_LOAD_H
#define REDLOCK_TESTS_COST_LOAD_H

#include "cost_shim.h"
#include "servers.h"

struct load {
    const struct cluster *cluster;
    uint32_t client_flags;
    uint32_t request_flags;
    bool one_name; /* asynchronous requests: for the same lock, which is handed on */
    int in_flight; /* at once: asynchronous requests, or threads */
    int cycles;    /* that are counted, of all together */
    struct shim_counts *counts;
};

/* Acquire and release, from one event to the next. */
void load_async(void *load);

/* Reads the events of so many in flight, which all wait. */
void load_drain(void *load);

/* Cycles with blocking calls of one thread, and of many. */
void load_blocking(void *load);
void load_threads(void *load);

/* One lock, extended again and again by its owner; or renewed by the library. */
void load_extend(void *load);
void load_renewed(void *load);

/* Two clients pass one lock to each other, the other always waiting for it. */
void load_handover(void *load);

#endif
