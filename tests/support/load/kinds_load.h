/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that hold locks of any kind while nodes hang, are cut off and restart, and a
 * record of it all (lab/history/holds.h), which says afterwards whether holders excluded each
 * other.
 */
#ifndef REDLOCK_TESTS_KINDS_LOAD_H
#define REDLOCK_TESTS_KINDS_LOAD_H

#include "relay.h"
#include "servers.h"

#include "lab/history/holds.h"

enum { LOAD_NAMES_MAX = 16, LOAD_RECORDS_MAX = 60000 };
enum { LOAD_MAX_TTL_MS = 500 }; /* short: attempts of a load may fail */

enum load_faults { LOAD_HANGS = 1, LOAD_CUTS = 2, LOAD_RESTARTS = 4 };

/* What one process requests next. */
struct load_wish {
    unsigned names; /* bits */
    redlock_request request;
    int owner;
    int64_t ttl_ms;
    int64_t hold_ms;
};

typedef void load_wish_fn(int worker, unsigned *seed, struct load_wish *out);

struct load;
struct load_spec;

/* A mutex of any of six names together, or of one, requested in any order, with a token. */
load_wish_fn load_wish_any_names;

struct load_spec {
    size_t nodes;
    int workers;
    int64_t run_ms;
    int holds_min;            /* goes on for longer, within limits, until there are so many */
    int holds_max;            /* ends with so many; 0: LOAD_RECORDS_MAX */
    int pause_ms;             /* least time between two faults; 0: 20 */
    uint32_t node_timeout_ms; /* 0: short, so that a node that hangs is passed over */
    int drop_percent;         /* of acquires, of every fourth worker */
    bool all_drop;            /* of every worker */
    bool hidden; /* where some are dropped: no client sees that its node was away */
    unsigned faults;
    void (*torment)(struct load *l, const struct load_spec *spec); /* instead of `faults` */
    unsigned seed;
    uint32_t flags; /* of the clients */
    load_wish_fn *wish;
};

struct load {
    struct cluster c;
    struct relay relay[REDLOCK_NODES_MAX]; /* with drop_percent */
    struct holds *holds;
    _Atomic int failures; /* acquires that did not succeed */
};

/* Runs it to its end. The cluster is still there afterwards. */
struct load *load_run(const struct load_spec *spec);

#endif
