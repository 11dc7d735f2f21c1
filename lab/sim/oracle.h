/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracles: they know the true time and every clock, look at what the clients believe and at
 * what the nodes store, and say when a promise of docs/guarantees.md was broken. Each file
 * (oracle_*.c) has one promise.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "base/time.h"
#include "lab/fake/reply.h"
#include "lab/fake/store.h"
#include "lab/sim/options.h"

#define SIM_HOLD_SIZE 96 /* of a lock, with its tag or label */

struct sim_client;
struct sim_conn;
struct fake_item;
struct fake_key;
struct sim_node;
struct sim_worker;
struct sim_world;

/* What is held, and what decides which other holds may exist beside it. */
struct sim_hold {
    uint8_t names; /* a bit each */
    uint8_t kind;  /* enum redlock_kind */
    uint16_t slots;
    uint16_t slot;
    char owner[4];
};

/* A hold of a process that died: no other client may have the lock before its end. */
struct sim_ghost {
    struct sim_hold hold;
    int64_t until_ns; /* true time */
};

struct sim_acquisition {
    int64_t completed_ns; /* true time */
    int64_t token;
    char owner[4];
};

#define SIM_ENDS_MAX 16

/* A value that was released or evicted, and when that was answered. */
struct sim_end {
    int64_t since_ns; /* true time */
    uint16_t nodes;   /* that had it when its end began, a bit each */
    char value[SIM_HOLD_SIZE];
};

/* An eviction on a Sentinel group, and when it was final (E13). */
struct sim_final {
    uint8_t client;
    uint16_t life;
    uint32_t tenure;  /* before it was sent */
    int64_t since_ns; /* answered, by the client's clock */
    int64_t final_ns; /* true time; 0: not yet */
    char value[SIM_HOLD_SIZE];
};

struct sim_oracle {
    struct sim_final final[SIM_ENDS_MAX]; /* the last ones */
    size_t final_count;                   /* all of them */
    struct sim_end end[SIM_ENDS_MAX];     /* the last ones */
    size_t end_count;                     /* all of them */
    struct sim_ghost *ghost;
    size_t ghost_count;
    size_t ghost_capacity;
    struct sim_acquisition *acquisition[SIM_LOCKS_MAX];
    size_t acquisition_count[SIM_LOCKS_MAX];
    size_t acquisition_capacity[SIM_LOCKS_MAX];
    int64_t granted_ns[SIM_LOCKS_MAX]; /* the last time, true time */
    int64_t pardon_until_ns;           /* a clock was set: until then the harm is documented */
};

/* May both be held at once? */
bool sim_is_compatible(const struct sim_hold *a, const struct sim_hold *b);

/* After everything that a client did. */
void sim_oracle_observe(struct sim_world *world, struct sim_client *client);
void sim_oracle_granted(struct sim_world *world, struct sim_worker *worker);
void sim_oracle_lost(struct sim_world *world, struct sim_worker *worker);
/* A node has executed a request. */
void sim_oracle_executed(struct sim_world *world, struct sim_conn *conn,
                         const struct fake_words *words, struct rl_slice reply);
/* Every now and then, in the calm. */
void sim_oracle_calm(struct sim_world *world);
/* A node's keys have changed. */
void sim_oracle_store(struct sim_world *world, struct sim_node *node);
/* The clock of a node was set. */
void sim_oracle_stepped(struct sim_world *world);
void sim_oracle_free(struct sim_oracle *oracle);

/* ---- one promise each ---- */

void sim_proof_executed(struct sim_world *world, struct sim_conn *conn,
                        const struct fake_words *words, struct rl_slice reply);
#define SIM_ORACLE_ERRORS "scripts run to their end"
void sim_errors_executed(struct sim_world *world, const struct sim_conn *conn,
                         const struct fake_words *words, struct rl_slice reply);
/* After a renewal that found the key gone from too many nodes, the lock is lost. */
void sim_proof_lost(struct sim_world *world, const struct sim_worker *worker);
void sim_proof_extended(struct sim_world *world, const struct sim_worker *worker);
void sim_queue_observe(struct sim_world *world, const struct sim_worker *worker);
void sim_queue_granted(struct sim_world *world, const struct sim_worker *worker);
void sim_queue_calm(struct sim_world *world, struct sim_worker *worker);
void sim_mutex_observe(struct sim_world *world, struct sim_worker *worker);
void sim_mutex_lost(struct sim_world *world, struct sim_worker *worker);
void sim_mutex_death(struct sim_world *world, struct sim_client *client);
void sim_lease_observe(struct sim_world *world);
void sim_lease_granted(struct sim_world *world, struct sim_worker *worker);
/* Has the node this value, and for longer than until now? type, unless NULL: of its key. */
bool sim_has_hold(struct sim_world *world, struct sim_node *node, const char *wanted,
                  enum fake_type *type);
/* A worker is about to end this value. */
void sim_ended_begin(struct sim_world *world, struct sim_worker *worker, const char *value);
/* The end of a value was answered with success. */
void sim_ended_note(struct sim_world *world, const struct sim_worker *worker);
void sim_ended_check(struct sim_world *world);
/* An eviction on a Sentinel group was answered with success. */
void sim_elected_evicted(struct sim_world *world, const struct sim_worker *worker);
void sim_elected_observe(struct sim_world *world, const struct sim_client *client);
/* A client may have learned of another term, or greeted another server. */
void sim_elected_hear(struct sim_world *world, struct sim_client *client);
/* Of each elected vote one client at a time has a proof. */
void sim_elected_proofs(struct sim_world *world, struct sim_worker *worker);
/* A renewal that began then, in true time, was counted. */
void sim_elected_extended(struct sim_world *world, const struct sim_worker *worker,
                          int64_t began_ns);
/* Where holds survive failovers, one was lost. */
void sim_elected_lost(struct sim_world *world, const struct sim_worker *worker);
/* The node has answered that a renewed key is missing; and the client has read so
 * much of it. */
void sim_elected_missed(struct sim_world *world, struct sim_conn *conn, struct rl_slice value);
void sim_elected_read(struct sim_world *world, struct sim_conn *conn);
void sim_fence_granted(struct sim_world *world, struct sim_worker *worker);
void sim_calls_watch(struct sim_world *world, struct sim_worker *worker);
void sim_calls_granted(struct sim_world *world, struct sim_worker *worker);
void sim_calls_lost(struct sim_world *world, struct sim_worker *worker);
void sim_calls_done(struct sim_world *world, struct sim_worker *worker);
void sim_guard_observe(struct sim_world *world, struct sim_client *client);
void sim_keys_check(struct sim_world *world, struct sim_node *node);
/* Every client is idle and every connection quiet. */
void sim_keys_final(struct sim_world *world);
/* The value of the hold that an item is, and its end; NULL: it is none. */
const char *sim_read_hold(const struct fake_key *key, const struct fake_item *item,
                          int64_t *ends_ms);

#endif
