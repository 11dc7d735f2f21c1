/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one seed is about. Every run draws its own world: how many nodes and clients, which
 * guard, which kinds of trouble and how often (most kinds are off in most runs, so that each
 * gets runs in which it is not drowned by the others).
 *
 * The regime says under which of the stated assumptions (docs/guarantees.md) a run stays, and
 * with it which oracles speak: a fault that an assumption excludes is only drawn where the
 * promise does not rest on it. docs/simulator.md has the table.
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "core/guard.h"
#include "core/kind.h"
#include "lab/sim/rng.h"

#define SIM_NODES_MAX 7
#define SIM_OUTSIDERS_MAX 3
#define SIM_GROUPS_MAX 3
#define SIM_GROUP_SERVERS_MAX 3
#define SIM_ELECTORS_MAX 5
/* Nodes and outsiders; or three nodes, the other servers of their groups, and the electors. */
#define SIM_SERVERS_MAX 16
#define SIM_CLIENTS_MAX 8
#define SIM_WORKERS_MAX 3
#define SIM_LOCKS_MAX 4 /* contended names */
#define SIM_SLOTS_MAX 4
#define SIM_OWNERS_MAX 3
#define SIM_LEASES_MAX 4

/* What a name is used for: locks of one kind (of readers: and of mutexes), or of any. */
enum { SIM_USE_ANY = RL_KIND_COUNT };

/* One line per regime: name, what a person reads. */
#define SIM_REGIMES(X)                                                                         \
    X(PLAIN, "guard off, nodes keep their memory")                                             \
    X(DEFAULT, "default guard, restarts break connections")                                    \
    X(STRICT, "strict guard, memory is lost in every way that it catches")                     \
    X(STEPS, "default or strict guard, clocks of nodes are set")                               \
    X(ANYTHING, "everything at once; one holder is not promised")                              \
    X(ELECTED, "Sentinel groups: failovers lose writes, deposed masters live on")              \
    X(BACK, "Sentinel groups whose electors go back; one holder is not promised")

enum sim_regime {
#define SIM_REGIME_ENUM(name, text) SIM_REGIME_##name,
    SIM_REGIMES(SIM_REGIME_ENUM)
#undef SIM_REGIME_ENUM
        SIM_REGIME_COUNT,
};

/* Which nodes clients have whose list is not that of the others. */
enum sim_strangers {
    SIM_STRANGERS_FEW,        /* the first ones only */
    SIM_STRANGERS_NEIGHBOURS, /* the last ones, and outsiders: as many as the others have */
    SIM_STRANGERS_TWICE,      /* a majority of their names are names of the first node */
};

/* One line per kind of trouble: name, regimes it belongs to (a letter each, as above). */
#define SIM_FAULTS(X)                                                                          \
    X(BREAK, "PDSA")         /* a connection breaks, with what is in flight */                 \
    X(PARTITION, "PDSA")     /* a client and a node, one or both directions, for a while */    \
    X(SLOW, "PDSA")          /* a link gets slow for a while */                                \
    X(NODE_PAUSE, "PDSA")    /* a node hangs and comes back */                                 \
    X(NODE_RESTART, "PDSA")  /* a node crashes and starts again; connections break */          \
    X(SCRIPT_FLUSH, "PDSTA") /* a node forgets its scripts */                                  \
    X(NODE_ERRORS, "PDSTA")  /* a node answers errors for a while, to some or for its set */   \
    X(CLIENT_PAUSE, "PDSA")  /* a process stops and goes on */                                 \
    X(CLIENT_CRASH, "PDSA")  /* a process dies; another takes its place */                     \
    X(CLIENT_WALL, "PDSTA")  /* a client's wall clock is set */                                \
    X(HIDDEN_RESTART, "SA")  /* a node restarts behind a proxy: connections stay */            \
    X(FLUSHALL, "SA")        /* a node loses its keys */                                       \
    X(PROMOTION, "SA")       /* a node is a replica for a while, then a master again */        \
    X(EVICTION, "A")         /* a node loses one key */                                        \
    X(NODE_STEP, "TA")       /* a node's clock is set */                                       \
    X(COUNTER, "")           /* a fence counter is overwritten: drawn aside, options.c */      \
    X(INIT, "")              /* `redlock init` draws a new set: drawn aside as well */         \
    X(FAILOVER, "")          /* a group gets another master; this and the next: elected.c */   \
    X(SPLIT, "")             /* clients, servers and electors on two sides */                  \
    X(LAG, "")               /* a replica gets nothing from its master for a while */          \
    X(BACKWARDS, "")         /* an elector goes back to an earlier term */

enum sim_fault {
#define SIM_FAULT_ENUM(name, regimes) SIM_FAULT_##name,
    SIM_FAULTS(SIM_FAULT_ENUM)
#undef SIM_FAULT_ENUM
        SIM_FAULT_COUNT,
};

struct sim_options {
    enum sim_regime regime;
    uint8_t node_count;
    uint8_t client_count;
    uint8_t worker_count; /* of each client */
    uint8_t lock_count;
    enum rl_guard_mode guard;
    uint32_t drift_ppm;
    int64_t skew_ns; /* the nodes' clocks differ by up to this */
    int64_t max_ttl_ms;
    int64_t ttl_min_ms; /* of one lock */
    int64_t ttl_max_ms;
    int64_t hold_max_ns;
    int64_t think_max_ns;
    int64_t node_timeout_ns;
    int64_t retry_min_ns;
    int64_t retry_max_ns;
    int64_t duration_ns;          /* of the part with faults */
    uint8_t use[SIM_LOCKS_MAX];   /* a kind, or SIM_USE_ANY */
    uint8_t slots[SIM_LOCKS_MAX]; /* of a semaphore */
    uint8_t owner_count;          /* of re-entrant locks: any client may act for any of them */
    uint32_t several_permille;    /* mutexes that ask for several names at once */
    uint32_t fair_permille;
    uint32_t try_permille; /* acquisitions that do not wait */
    uint32_t fenced_permille;
    uint32_t renew_permille;
    uint32_t late_permille;  /* of grants whose event is read later than it happened */
    uint32_t break_permille; /* of what workers do: an operator evicts a holder */
    uint32_t young_permille; /* nodes that start without a past */
    bool has_sets;           /* the nodes know which set they are (G8) */
    enum sim_strangers strangers;
    uint8_t stranger_count;  /* clients that have other nodes than the rest, until the calm */
    uint8_t strangers_nodes; /* how many */
    uint8_t outsider_count;  /* nodes beside the others that are in no set */
    uint8_t lease_count;     /* workers serve so many holders of leases; 0: they want locks */

    uint8_t elected_count;      /* the first so many nodes are Sentinel groups */
    uint8_t group_size;         /* servers of each */
    uint8_t elector_count;      /* sentinels, which all groups share */
    bool names_elector_twice;   /* every other client has two addresses of the first */
    uint8_t brief_count;        /* clients, the last ones, whose processes live for a second */
    uint32_t promoted_permille; /* of plain nodes that come back: a replica has taken over */
    bool is_slow;   /* longer between failovers than the quarantine; what lags, lags long */
    bool is_gentle; /* failovers lose nothing, and are known soon: holds survive them */
    bool swings;    /* a master is demoted and promoted again before electors learn of either */
    bool relapses;  /* a second failover soon after brings back what was evicted in between */

    int64_t delay_min_ns; /* one way */
    int64_t delay_max_ns;
    int64_t jitter_ns;
    int64_t calm_delay_ns;   /* one way, at most, once the faults are over */
    uint32_t spike_permille; /* segments that take up to a hundred times as long */
    uint32_t split_permille; /* segments that are cut in two */
    int64_t turn_jitter_ns;  /* how late a client gets the processor */

    /* Mean time between two faults of a kind, anywhere; 0: none. */
    int64_t every_ns[SIM_FAULT_COUNT];
};

void sim_options_draw(struct sim_options *options, struct sim_rng *rng);
/* Worlds with elected votes have seeds of their own, every other million. */
#define SIM_ELECTED_FIRST 1000001
static inline bool sim_is_elected(uint64_t seed)
{
    return seed / 1000000 % 2 == 1;
}
void sim_options_draw_elected(struct sim_options *options, struct sim_rng *rng);
/* All servers of a world, electors among them. */
uint8_t sim_server_count(const struct sim_options *options);
const char *sim_regime_text(enum sim_regime regime);
const char *sim_fault_name(enum sim_fault fault);

/* Which oracles speak in this run. */
bool sim_promises_one_holder(const struct sim_options *options);
bool sim_promises_token_order(const struct sim_options *options);
/* Nodes keep what they have, and their clocks are steady. */
bool sim_promises_memory(const struct sim_options *options);

#endif
