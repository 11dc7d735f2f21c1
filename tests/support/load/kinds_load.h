/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that hold locks of any kind while nodes hang, are cut off and restart, and a
 * record of it all: which process held which names, how, and from when to when by
 * CLOCK_BOOTTIME, which the processes have in common. Afterwards it is looked for holders
 * that exclude each other.
 */
#ifndef REDLOCK_TESTS_KINDS_LOAD_H
#define REDLOCK_TESTS_KINDS_LOAD_H

#include "servers.h"

#include <stdatomic.h>
#include <stdint.h>

enum { LOAD_NAMES_MAX = 6, LOAD_RECORDS_MAX = 60000 };
enum { LOAD_MAX_TTL_MS = 500 }; /* short: attempts of a load may fail */

enum load_faults { LOAD_HANGS = 1, LOAD_CUTS = 2, LOAD_RESTARTS = 4 };

struct load_record {
    unsigned names; /* bits */
    int kind;
    int slot;           /* of a semaphore */
    int owner;          /* of a re-entrant lock */
    int64_t asked_ns;   /* before the call */
    int64_t granted_ns; /* after it returned */
    int64_t ended_ns;   /* before the release, or the end of the validity if that came first */
    int64_t token;
};

/* What one process asks for next; bits of names that LOAD_NAMES has. */
struct load_wish {
    unsigned names;
    redlock_request request;
    int owner;
    int64_t ttl_ms;
    int64_t hold_ms;
};

typedef void load_wish_fn(int worker, unsigned *seed, struct load_wish *out);

/* A mutex of any of the names together, or of one, asked for in any order, with a token. */
load_wish_fn load_wish_any_names;

struct load_spec {
    size_t nodes;
    int workers;
    int64_t run_ms;
    int holds_min; /* goes on for longer, within limits, until there are so many */
    unsigned faults;
    unsigned seed;
    uint32_t flags; /* of the clients */
    load_wish_fn *wish;
};

struct load {
    struct cluster c;
    _Atomic int stop;
    _Atomic int count;
    _Atomic int failures; /* acquires that did not succeed */
    struct load_record record[LOAD_RECORDS_MAX];
};

/* Runs it to its end. The cluster is still there afterwards. */
struct load *load_run(const struct load_spec *spec);

/* Pairs of holds that exclude each other and were there at the same time. */
int load_conflicts(const struct load *l);

/* The most holds of the kind at one moment. */
int load_peak(const struct load *l, int kind);

/* Pairs of holders of one slot at the same time. */
int load_slot_doubles(const struct load *l);

/* Tokens of a name that are not larger than those of acquisitions that had completed. */
int load_disorders(const struct load *l);

#endif
