/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sentinel groups: servers of which one is the master, replicas that follow it late and lose
 * what had not reached them, and electors, each with a view of its own of who the master is. A
 * failover waits for no client: another server is promoted, electors learn of it one by one,
 * and the old master lives on and grants until it learns of it, too (docs/elected.md).
 */
#ifndef SIM_ELECTED_H
#define SIM_ELECTED_H

#include "lab/fake/reply.h"
#include "lab/sim/options.h"

struct sim_node;
struct sim_world;

/* A term, as one elector has it. */
struct sim_view {
    uint64_t epoch;
    uint8_t server; /* its index */
};

#define SIM_LEFT_MAX 8

/* When an elector has left a term. */
struct sim_left {
    uint64_t epoch;
    int64_t at_ns; /* true time */
};

struct sim_group {
    uint8_t server[SIM_GROUP_SERVERS_MAX]; /* their indices */
    uint64_t epoch;
    uint8_t leader; /* index of the master of that epoch */
    struct sim_view view[SIM_ELECTORS_MAX];
    struct sim_left left[SIM_ELECTORS_MAX][SIM_LEFT_MAX]; /* the last ones, the newest first */
    struct sim_view past[4]; /* the last terms, for electors that go back */
};

/* After the nodes were made: who follows whom, and which set they are. */
void sim_elected_begin(struct sim_world *world);
/* The faults are over: one master, which all electors name. */
void sim_elected_end(struct sim_world *world);

/* A request to an elector. */
void sim_elected_answer(struct sim_world *world, struct sim_node *elector,
                        const struct fake_words *words, struct fake_bytes *out);
/* The server at this address, as electors say it. */
struct sim_node *sim_elected_find(struct sim_world *world, const char *owner);
/* Which of the world's servers is elector k? */
struct sim_node *sim_elected_elector(struct sim_world *world, uint8_t k);

/* A server of a group has started again: what is it now? */
void sim_elected_started(struct sim_world *world, struct sim_node *node);
/* Its keys are gone: an operator says which set it was, which admits nothing. */
void sim_elected_forgot(struct sim_world *world, struct sim_node *node);

void sim_fault_failover(struct sim_world *world);
void sim_fault_split(struct sim_world *world);
void sim_fault_lag(struct sim_world *world);
void sim_fault_backwards(struct sim_world *world);

#endif
