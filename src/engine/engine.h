/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine ties decisions (core) to words (protocol) for one client: it owns the nodes'
 * sessions and the attempts, carries out the actions of a lock's step, and brings every reply
 * back to the lock it belongs to.
 *
 *     handle.c   a lock of the client: events in, the core's actions out
 *     send.c     the way out: from an action to requests in the sessions
 *     receive.c  the way back: from bytes received to the lock
 *     vote.c     what a reply is worth: every check before the tally
 *
 * Beside these stand what attempts may have put on the nodes (attempt.c), the local queue of
 * the waiters of this client (local_queue.c), the holder that an acquisition waits for
 * (current_holder.c), connections without their sockets (link.c), nodes as they come and go
 * (node.c), nodes that are elected votes (elected.c), the connections that only listen
 * (subscriber.c), what is found out about nodes between requests (watch.c), the set that they
 * belong to (sets.c), requests to all of them (survey.c) and the one answer to a query that is
 * made of all (conclusion.c), what else a profile demands of them (safety.c), what is due by
 * the clock (tick.c), the counters (stats.c), and the trace of all this (trace.c).
 *
 * It makes no system call. Its caller (the client with real sockets, a simulator with imagined
 * ones) gives it the time, what arrived and which connections came and went, and takes away the
 * bytes to send and the handles that have news.
 *
 * Not thread-safe: the client calls it under its mutex.
 */
#ifndef RL_ENGINE_ENGINE_H
#define RL_ENGINE_ENGINE_H

#include "base/slice.h"
#include "base/timers.h"
#include "core/lock.h"
#include "engine/attempt.h"
#include "engine/handle.h"
#include "engine/local_queue.h"
#include "engine/node.h"

typedef uint32_t rl_random_fn(void *data);
typedef int rl_secret_fn(void *data, void *bytes, size_t size); /* -1: there is none */
typedef int64_t rl_wall_fn(
    void *data); /* CLOCK_REALTIME: what people compare between machines */

/*
 * One client's locks and nodes. Constant after init: policy to stall_ns, random to channel. The
 * rest changes with every event that the caller brings.
 */
struct rl_engine {
    struct rl_policy policy;
    enum rl_guard_mode guard_mode;
    int64_t max_ttl_ns;          /* of any client of the nodes */
    struct rl_slice placement;   /* which quorum of which set this is; empty: the only one */
    struct rl_set_self set_self; /* what it knows of its set of nodes (G8) */
    int64_t stall_ns;            /* a node this long silent with requests pending is given up */
    rl_random_fn *random;        /* spreads attempts; may be guessed */
    rl_secret_fn *secret;        /* values and names: unguessable, and never the same twice */
    rl_wall_fn *wall_ms;         /* for the stamps of values with a label */
    void *random_data;           /* for the three */
    /* An admission is being planned: not the electors of the set name the server, but
     * those that it will be made with. No grant counts meanwhile. */
    bool plans_electors;
    bool strict;            /* grants need the node's marker (G2) */
    bool requires_safety;   /* grants need the node to pass the safety checks (safety.h) */
    struct rl_trace *trace; /* NULL: none */
    char id[RL_CLIENT_ID_SIZE + 1]; /* of this client in the nodes' queues; random */
    char channel[sizeof RL_WAKE_PREFIX + RL_CLIENT_ID_SIZE];

    struct rl_node node[REDLOCK_NODES_MAX];
    /* The set that each belongs to (G8), as sets.c has judged it. */
    struct rl_set_answer set_answer[REDLOCK_NODES_MAX];
    char set[RL_SET_MAX];     /* of nodes, in force (G8); empty: none */
    bool awaits_sets;         /* nodes that may be in one have not answered (G8) */
    uint32_t server_count;    /* run_ids that nodes have reported: which of them did so first */
    char new_set[RL_SET_MAX]; /* what `redlock init` makes of them */
    bool met_other_init;      /* the last one did not succeed: another was at work */
    bool wants_subscribers;   /* a lock had to wait: the subscriber connections are wanted */
    uint8_t subscriber_count; /* that are up */

    struct rl_handles handles; /* every one, the newest first */
    size_t handle_count;
    struct rl_ready ready; /* handles with news */
    uint32_t ready_count;
    struct rl_timers timers; /* one of every handle */
    struct rl_pool attempts; /* freed ones, for reuse */
    struct rl_pool pending_acquires;
    struct rl_local_queues local_queues;
    struct rl_yield yield[RL_YIELDS]; /* by the hash of a key */
    int64_t yields_until_ns;          /* the last of them */
    redlock_counters stats;

    /* Keeping an eye on the nodes (watch.c). */
    int64_t watch_at_ns; /* when to look again; RL_NEVER_NS: nothing to look at */
    bool watches_idle;   /* the owner reads how the nodes are: also checked without locks */
    /* How long no thread watched the sockets before this iteration: a reply may have
     * waited for it. */
    int64_t unwatched_ns;
    bool clock_trial; /* a clock stepped: a node's or ours? Fresh samples are on their way. */
    int64_t clock_trial_since_ns;
};

/* Everything constant must be set before: policy, guard, random, logins. NOMEM, SYSTEM (no
 * randomness) or OK. */
int rl_engine_init(struct rl_engine *engine);
void rl_engine_free(struct rl_engine *engine);

/* ---- tick.c ---- */

/* When rl_engine_tick() has something to do next. */
int64_t rl_engine_next_ns(const struct rl_engine *engine);
/* Timers that came up: those of handles, and of the watch on the nodes. */
void rl_engine_tick(struct rl_engine *engine, int64_t now_ns);

#endif
