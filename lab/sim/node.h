/* SPDX-License-Identifier: BSD-2-Clause */
/* A node: the model of a server, with a clock, a kernel that accepts for it, and a fate. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "lab/fake/server.h"
#include "lab/sim/clock.h"
#include "lab/sim/net.h"

/* What a node still has after a restart. */
enum sim_memory { SIM_MEMORY_ALL, SIM_MEMORY_SNAPSHOT, SIM_MEMORY_NONE };

struct sim_node {
    uint8_t index;
    struct fake_server server;
    struct sim_clock clock; /* wall clock, since 1970 */
    bool up;
    bool paused;
    int64_t errors_until_ns;    /* true time */
    int64_t hides_until_ns;     /* true time: its marker cannot be read, all else works */
    int64_t forgot_ns;          /* when it last lost keys, true time; 0: never */
    struct fake_store snapshot; /* as it was at some moment */
    uint8_t vote; /* which node of the clients' it is; its own index but in groups */
    bool is_elector;
    uint8_t elector;         /* which one */
    uint8_t follows;         /* a replica: the index of its master, and one */
    int64_t lags_until_ns;   /* a replica: true time */
    uint64_t demotion_stamp; /* of the event that makes a replica of a deposed master */
    uint64_t stamp;          /* of the event that ends its trouble */
};

#define SIM_NODE_NAME_MAX 8

/* What clients call it. */
void sim_node_name(const struct sim_node *node, char out[SIM_NODE_NAME_MAX]);

void sim_node_init(struct sim_world *world, uint8_t index);
void sim_node_free(struct sim_node *node);

/* Bytes have come to conn->node_input. */
void sim_node_received(struct sim_world *world, struct sim_conn *conn);
/* The client has closed. */
void sim_node_hangup(struct sim_world *world, struct sim_conn *conn);

/* The time by its own clock. */
int64_t sim_node_now_ms(const struct sim_world *world, const struct sim_node *node);
/* The marker by which an operator states that nothing is held (`redlock init`). */
void sim_node_vouch(struct sim_world *world, struct sim_node *node);

void sim_node_pause(struct sim_world *world, struct sim_node *node);
void sim_node_resume(struct sim_world *world, struct sim_node *node);
/* Down: every connection breaks. */
void sim_node_crash(struct sim_world *world, struct sim_node *node);
void sim_node_start(struct sim_world *world, struct sim_node *node, enum sim_memory memory);
/* Another incarnation behind the same connections. */
void sim_node_replace(struct sim_world *world, struct sim_node *node, enum sim_memory memory);
void sim_node_snapshot(struct sim_node *node);
/* A replica for a while. memory: the keys that it has as a master again. */
void sim_node_demote(struct sim_world *world, struct sim_node *node);
void sim_node_promote(struct sim_world *world, struct sim_node *node, enum sim_memory memory);

#endif
