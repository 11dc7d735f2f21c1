/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client: the real engine, driven as src/drive/iteration.c and src/io/conn.c drive it, with
 * imagined sockets and an own clock. Several workers use it, as threads would.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "engine/link.h"
#include "lab/sim/app.h"
#include "lab/sim/clock.h"
#include "lab/sim/net.h"
#include "lab/sim/options.h"
#include "lab/sim/rng.h"

/* The transport of one node: io/conn.c without sockets. */
struct sim_peer {
    struct sim_conn *conn;
    struct sim_node *node;
    struct rl_link link;
};

/* What a client knows of a group: as it learns of terms, and greets their servers. */
struct sim_tenure {
    uint32_t term_number;
    bool rose;
    int64_t heard_ns; /* by its clock */
    int64_t greeted_ns;
    char first[RL_ADMITTED_MAX]; /* incarnation and term that was greeted in it first */
    char last[RL_ADMITTED_MAX];  /* and last, in any term */
};

struct sim_client {
    uint8_t index;
    uint16_t life; /* number of the process: each crash is followed by a new one */
    bool alive;
    uint8_t node_count; /* of its process: a stranger has others */
    bool paused;
    struct sim_rng rng; /* of the engine: values, delays */
    bool signs_values;  /* a value names its client and process */
    struct sim_clock clock;
    int64_t wall_step_ns; /* how far its wall clock was set forward */
    int64_t paused_ns;    /* the last pause, by its own clock: from */
    int64_t resumed_ns;   /* ... to */
    uint64_t wake_stamp;
    uint64_t fate_stamp;   /* of the event that ends its trouble */
    bool poked;            /* a turn is due because something came */
    bool stops_next;       /* it stops as soon as it has sent something */
    bool sent;             /* this turn */
    bool crashes_silently; /* the nodes do not see its connections close */
    struct rl_engine *engine;
    struct sim_peer peer[SIM_NODES_MAX];
    struct sim_peer subscriber[SIM_NODES_MAX];
    struct sim_peer elector[SIM_GROUPS_MAX * (SIM_ELECTORS_MAX + 1)];
    uint8_t elector_count; /* of all groups */
    struct sim_tenure tenure[SIM_GROUPS_MAX];
    struct sim_worker worker[SIM_WORKERS_MAX];
};

/* A new process. */
void sim_client_start(struct sim_world *world, struct sim_client *client);
/* It is gone, and its connections with it. */
void sim_client_crash(struct sim_world *world, struct sim_client *client);
void sim_client_pause(struct sim_world *world, struct sim_client *client);
void sim_client_resume(struct sim_world *world, struct sim_client *client);

/* Its clock, as the library reads it. */
int64_t sim_client_now_ns(const struct sim_world *world, const struct sim_client *client);
/* When that clock will show so much. */
int64_t sim_client_when_ns(const struct sim_client *client, int64_t local_ns);

/* Something came for it. */
void sim_client_poke(struct sim_world *world, struct sim_client *client);
/* What rl_iterate() does. */
void sim_client_turn(struct sim_world *world, struct sim_client *client);
/* Connected everywhere, with nothing asked that is not answered. */
bool sim_client_is_quiet(const struct sim_client *client);

#endif
