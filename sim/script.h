/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts of the model: what the table in scripts.c calls, and what they share. */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "sim/server.h"

/* What a script is given; words point into the request. */
struct sim_call {
    struct sim_server *server;
    uint32_t key_count;
    uint32_t arg_count;
    const struct rl_slice *key;
    const struct rl_slice *arg;
    struct sim_bytes *out;
};

typedef void sim_script_fn(const struct sim_call *call);

/* script_plain.c: the mutex of the specification, and markers */
sim_script_fn sim_script_acquire, sim_script_witness, sim_script_extend, sim_script_release,
    sim_script_probe, sim_script_admit, sim_script_expel, sim_script_native;
/* script_take.c, script_give.c: every kind of lock, and the queue */
sim_script_fn sim_script_take, sim_script_align, sim_script_giveback, sim_script_renew,
    sim_script_ticket;

/* ---- shared, script_shared.c ---- */

int64_t sim_script_number(struct rl_slice text);
bool sim_script_same(struct rl_slice a, struct rl_slice b);
/* A field of a hash; NULL: no such key, or no such field. */
const char *sim_script_field(struct sim_server *server, struct rl_slice name,
                             const char *which);
/* Is it a string of this value? */
bool sim_script_is_value(struct sim_server *server, struct rl_slice name,
                         struct rl_slice value);
/* PTTL and PEXPIRE. */
int64_t sim_script_remaining_ms(struct sim_server *server, struct rl_slice name);
void sim_script_expire_in(struct sim_server *server, struct rl_slice name, int64_t ttl_ms);
/* "prefix" and a value: the name of a hold in a hash. */
struct rl_slice sim_script_name(char *out, size_t size, const char *prefix,
                                struct rl_slice value);
/* The life of a server of which nobody is sure: "?" behind it. */
struct rl_slice sim_script_doubt(char *out, size_t size, struct rl_slice sure);
/* The hash, made if there is nothing. */
struct sim_key *sim_script_hash(struct sim_server *server, struct rl_slice name);
/* ZADD, ZSCORE (-1: none) and ZREM. */
void sim_script_zadd(struct sim_server *server, struct rl_slice name, struct rl_slice member,
                     double score);
double sim_script_zscore(struct sim_server *server, struct rl_slice name,
                         struct rl_slice member);
bool sim_script_zrem(struct sim_server *server, struct rl_slice name, struct rl_slice member);
/* The largest ticket that was seen; 0: none. */
double sim_script_largest_ticket(struct sim_server *server, struct rl_slice alive);
/* PUBLISH to the client of a waiter; `slot` behind its name. True: somebody listens. */
bool sim_script_wake(struct sim_server *server, const char *waiter, struct rl_slice slot);

/* A fence counter: a hash of one field, incarnation = last. */
struct sim_counter {
    int64_t last; /* -1: none */
    bool has_from;
    char from[SIM_NAME_SIZE];
};

/* Who counts up from nothing, not from the clock, stays below. */
#define SIM_COUNTED_MAX INT64_C(1000000000000)

/*
 * What a counter of this text goes on from; -1: it is none. Numbers of scripts are doubles, so
 * without the limit a counter stops at 2^53.
 */
int64_t sim_script_last(struct rl_slice text);
void sim_script_read_counter(struct sim_server *server, struct rl_slice name,
                             struct sim_counter *out);
void sim_script_write_counter(struct sim_server *server, struct rl_slice name, int64_t token,
                              struct rl_slice from, int64_t life_ms);

/* The marker, and who the node is: the same for ACQUIRE and TAKE. */
struct sim_standing {
    char id[SIM_VALUE_SIZE];
    int64_t max_ttl_ms;
    char identity[2 * SIM_ID_DIGITS + 2];
};

/* False: the ttl is beyond what the node allows, and that was replied. */
bool sim_script_standing(const struct sim_call *call, struct rl_slice marker, int64_t ttl_ms,
                         bool asked, struct sim_standing *out);
void sim_script_reply_two(const struct sim_call *call, int64_t first, int64_t second);
void sim_script_reply_standing(const struct sim_call *call, uint32_t count, int64_t verdict,
                               int64_t value, const struct sim_standing *standing);

#endif
