/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * May this node vote (G1-G6, G8)? A new connection begins unchecked; what was learned of the
 * node's clock and set outlives the connection.
 *
 * A node that lost its memory votes for locks it has already granted. It looks exactly like a
 * healthy young node, so every node whose past is unknown is kept from voting until whatever
 * it may have forgotten has expired: max_ttl plus a margin, watched by this client on one
 * connection. Three things make the wait unnecessary: an uptime longer than that, a marker on
 * the node that names this very incarnation, or the guard being switched off.
 *
 * The identity that a marker is compared with belongs to the connection, never to the node: a
 * new connection begins unchecked.
 *
 * Time is guarded as well: a sample of the node's clock against ours gives a window for their
 * difference, and two windows that do not meet prove that one of the clocks was set (G6).
 */
#ifndef RL_CORE_GUARD_H
#define RL_CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/time.h"
#include "core/electors.h"
#include "redlock.h"

#define RL_IDENTITY_MAX 96 /* run_id:master_replid, 81 characters, and the terminator */
#define RL_RUN_ID_MAX 48
#define RL_PROBATION_MAX (RL_IDENTITY_MAX + 48)
/* What a marker names: the identity; of an elected vote, a blank and the term behind it. */
#define RL_ADMITTED_MAX (RL_IDENTITY_MAX + RL_TERM_TEXT_MAX)

/* uptime_in_seconds over-reports by up to 0.9 s; the rest is for delays on the way. */
#define RL_GUARD_MARGIN_NS (2 * RL_NS_PER_S)

enum rl_guard_mode {
    RL_GUARD_OFF,
    RL_GUARD_DEFAULT, /* checked once per connection; safe while a restart breaks it */
    RL_GUARD_STRICT,  /* the marker is read behind every batch of acquires as well */
};

enum rl_guard_state {
    RL_GUARD_UNCHECKED, /* no vote counts before the check has answered */
    RL_GUARD_VOTING,
    RL_GUARD_QUARANTINED,
};

/* What the node reported about itself on this connection, before anything else. */
struct rl_facts {
    bool has_server;      /* INFO server was answered */
    bool has_replication; /* INFO replication was answered */
    bool has_persistence; /* INFO persistence was answered */
    bool loading;
    bool master;
    bool sentinel;         /* a Sentinel, which keeps no locks, by its INFO */
    bool cluster;          /* a node of a Redis Cluster, by its INFO or by its errors */
    int64_t replica_count; /* connected to it */
    char run_id[RL_RUN_ID_MAX];
    char replid[48];
    bool was_promoted; /* it was a replica before: how long it is up proves nothing */
    int64_t uptime_s;
    bool append_only;        /* aof_enabled, as far as has_persistence */
    bool has_memory;         /* INFO memory was answered */
    int64_t maxmemory_bytes; /* 0: no limit */
    char maxmemory_policy[24];
    char marker[RL_ADMITTED_MAX];       /* redlock.admit, field id; empty: none */
    int64_t marker_max_ttl_ms;          /* field max_ttl; 0: none */
    char electors[RL_ELECTOR_LIST_MAX]; /* field electors, of an elected vote; empty: none */
};

struct rl_clock_window {
    bool known;
    int64_t low_ns; /* node's clock minus ours lies between these ... */
    int64_t high_ns;
    int64_t at_ns; /* ... as of this moment of ours */
};

struct rl_guard {
    enum rl_guard_mode mode;
    int64_t max_ttl_ns; /* of this client */
    uint32_t drift_ppm; /* by how much the two clocks' rates may differ */

    enum rl_guard_state state;
    enum redlock_reason reason;
    char identity[RL_IDENTITY_MAX]; /* of this connection; empty: unknown */
    char term[RL_TERM_TEXT_MAX]; /* that the connection was made in; empty: no elected vote */
    bool attestation_names_term; /* of a cluster: its server sends it behind its identity */
    char admitted[RL_ADMITTED_MAX]; /* what a marker has to name; empty: unknown */
    int64_t node_max_ttl_ns;        /* of the marker; 0: it has none */
    int64_t watched_since_ns;       /* on this connection, without a break */
    /* Why its votes do not count although its memory may be trusted (G8); NONE: they do. */
    enum redlock_reason objection;

    /* Strict: the probation string that is being watched; empty: none yet. */
    char probation[RL_PROBATION_MAX];
    /*
     * A stamp on the node has the time since when it is what it is, by its own clock, so that
     * clients which live for a second need not watch it (E7). When it is old enough; 0: not
     * known yet.
     */
    int64_t stamp_ends_ns;
    bool stamp_answered; /* the request for it was answered, perhaps with an error */

    struct rl_clock_window window;
    int64_t step_ns; /* the last proven step; 0: none since it was looked at */
    /*
     * When a step was blamed on the node; 0: never. Kept across reconnects: keys may already
     * have expired early.
     */
    int64_t clock_blamed_ns;
};

void rl_guard_init(struct rl_guard *guard, enum rl_guard_mode mode, int64_t max_ttl_ns,
                   uint32_t drift_ppm);

/*
 * A new connection: what its predecessor proved of the node's memory is void. Its clock window,
 * the blame for a step and its set outlive it.
 */
void rl_guard_connected(struct rl_guard *guard);

/*
 * The check of this connection has been answered (G1), for the first time or again. A repeated
 * check never shortens a quarantine, and a node that changed on a living connection (promoted,
 * loaded) has a past that was not watched.
 */
void rl_guard_judge(struct rl_guard *guard, const struct rl_facts *facts, int64_t now_ns);

/*
 * The marker and the identity of the node as they stood together with an acquire (G2). Both
 * must be what this connection greeted: a snapshot brings an old marker back, and a proxy hides
 * that the server behind it is another incarnation. True: the node may vote.
 */
bool rl_guard_marker(struct rl_guard *guard, struct rl_slice marker, struct rl_slice identity,
                     int64_t max_ttl_ms, int64_t now_ns);

/* An elected vote, and a server that was promoted, are admitted by the age of a stamp. */
bool rl_guard_wants_stamp(const struct rl_guard *guard);
/* What STAMP answered: how much of the guard time is left; 0 or less: none, it is admitted. */
void rl_guard_stamped(struct rl_guard *guard, int64_t left_ms, int64_t now_ns);
/* True until the first STAMP has been answered; grants are kept, not refused. */
bool rl_guard_awaits_stamp(const struct rl_guard *guard);
/*
 * Then: may a grant be kept until the answer? Of an elected vote, its attestation must name the
 * incarnation that the stamp will be of (E5).
 */
bool rl_guard_may_keep(const struct rl_guard *guard, struct rl_slice identity);
/* The time that has to pass before what a node may have forgotten is surely over. */
int64_t rl_guard_time_ns(const struct rl_guard *guard);
/*
 * The attestation behind a request names the incarnation that this connection has greeted (E5).
 */
bool rl_guard_is_greeted(const struct rl_guard *guard, struct rl_slice identity);

/* Strict: what PROBE answered, and whether ADMIT agreed. */
void rl_guard_probed(struct rl_guard *guard, struct rl_slice answer, int64_t now_ns);
void rl_guard_admitted(struct rl_guard *guard, bool admitted, int64_t now_ns);
/* An operator has stated that nothing is held (G5). */
void rl_guard_vouched(struct rl_guard *guard);
/* Strict: the probation has been watched for long enough to be turned into a marker. */
bool rl_guard_wants_admission(const struct rl_guard *guard, int64_t now_ns);

/* May the node's new grants be counted now? Ends a quarantine whose time has come. */
bool rl_guard_check_vote(struct rl_guard *guard, int64_t now_ns);

/* It votes, and neither its memory, its clock nor its set is in doubt. */
static inline bool rl_guard_is_voting(const struct rl_guard *guard)
{
    return guard->state == RL_GUARD_VOTING && guard->step_ns == 0 &&
           guard->objection == REDLOCK_REASON_NONE;
}

/* When the quarantine ends if nothing happens; INT64_MAX: not by itself. */
int64_t rl_guard_ends_ns(const struct rl_guard *guard);

/* The node's clock read node_us at some moment between sent_ns and received_ns (G6). */
void rl_guard_sample(struct rl_guard *guard, int64_t node_us, int64_t sent_ns,
                     int64_t received_ns);
/* Another server is that of the node from now on: its clock is another one. */
void rl_guard_forget_clock(struct rl_guard *guard);
/* A proven step was the node's own: out with it. */
void rl_guard_blame_clock(struct rl_guard *guard, int64_t now_ns);

#endif
