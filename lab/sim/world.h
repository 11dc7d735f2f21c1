/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulated world: nodes, clients, the network between them, one queue of events, one seed.
 *
 * A run has three parts: trouble (safety is watched), calm (every waiter must be served and
 * every client come to rest in bounded time), and a look at what is left behind.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdio.h>

#include "lab/sim/client.h"
#include "lab/sim/elected.h"
#include "lab/sim/events.h"
#include "lab/sim/faults.h"
#include "lab/sim/lease.h"
#include "lab/sim/net.h"
#include "lab/sim/node.h"
#include "lab/sim/options.h"
#include "lab/sim/oracle.h"
#include "lab/sim/rng.h"
#include "lab/sim/service.h"
#include "lab/sim/trace.h"

#define SIM_TEXT_MAX 256

struct sim_world {
    uint64_t seed;
    struct sim_options options;
    struct sim_rng rng;
    int64_t now_ns; /* true time */
    struct sim_events events;
    struct sim_node node[SIM_SERVERS_MAX]; /* the outsiders last */
    struct sim_client client[SIM_CLIENTS_MAX];
    struct sim_link link[SIM_CLIENTS_MAX][SIM_SERVERS_MAX];
    struct sim_conn *conns; /* all that ever were */
    uint32_t conn_count;
    struct sim_lease lease[SIM_LEASES_MAX];
    struct sim_service service[SIM_CLIENTS_MAX]; /* of each client */
    struct sim_group group[SIM_GROUPS_MAX];
    struct sim_oracle oracle;
    bool calm;          /* the faults are over */
    int64_t calm_at_ns; /* since when */
    bool ended;
    FILE *trace; /* NULL: none is written */
    uint64_t grants;
    uint64_t event_count;
    uint32_t set_count; /* that `redlock init` has drawn */

    bool failed;
    const char *failed_oracle;
    char failure[SIM_TEXT_MAX];
};

struct sim_result {
    bool failed;
    char oracle[32];
    char failure[SIM_TEXT_MAX];
    uint64_t grants;
    uint64_t events;
    int64_t simulated_ns;
    enum sim_regime regime;
};

/* Plays one seed. trace may be NULL. */
void sim_play(uint64_t seed, FILE *trace, struct sim_result *out);

/* A promise was broken: the run ends here. The first one counts. */
__attribute__((format(printf, 3, 4))) void sim_fail(struct sim_world *world, const char *oracle,
                                                    const char *format, ...);

#endif
