/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replicas of the service: in worlds with leases each client is one. What a request, an
 * outcome, the end of a connection or the time means is decided by the file that ships
 * (redlockd/leases/lease.c); here are its memory of ids and its actions, carried out by the
 * real engine, and the connection of each request, which breaks, is closed and vanishes. The
 * programs behind the connections are in lease.h.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include "lab/sim/app.h"

#define SIM_IDS_MAX 32

/* What a replica remembers, until its process ends. */
struct sim_service {
    uint16_t life;       /* of its client */
    int64_t draining_ns; /* until then, true time */
    uint32_t next;       /* the entry that is overwritten when there is no room */
    struct {
        char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1]; /* empty: none */
        enum lease_memory memory;
        struct sim_worker *worker; /* WAITS, STREAMS */
    } id[SIM_IDS_MAX];
};

/* A request of a program, as it reaches a replica. */
struct sim_request {
    enum lease_verb verb;
    struct sim_lease *lease;
    const struct sim_grant *grant; /* of the acquisition that it is about */
    bool is_copy;                  /* of a proxy: the program does not read its answer */
    bool by_value;                 /* it has the Grant */
    bool is_other; /* PUT: it requests something else than the first with this id */
    bool eof;      /* its client closed behind it */
};

/* It has come to the replica of this worker, which is idle and serves it. */
void sim_service_serve(struct sim_world *world, struct sim_worker *worker,
                       const struct sim_request *request);
/* An operation of the worker has ended. */
void sim_service_finished(struct sim_world *world, struct sim_worker *worker,
                          enum sim_operation operation, int error);
void sim_service_lost(struct sim_world *world, struct sim_worker *worker);
/* A moment that the worker has planned for. */
void sim_service_act(struct sim_world *world, struct sim_worker *worker);
/* Everything that is held or waits is to end. */
void sim_service_calm(struct sim_world *world, struct sim_worker *worker);
/* The replica is about to end, and goes on after a while. */
void sim_service_drain(struct sim_world *world, struct sim_client *client);
/* The lease has lost its right: at every replica that is not stopped. */
void sim_service_rule(struct sim_world *world, const struct sim_lease *lease);

/* oracle_lease.c: after each step, `before` is what it began with. */
void sim_lease_check(struct sim_world *world, const struct sim_worker *worker,
                     const struct lease *before, const struct lease_event *event,
                     const struct lease_actions *actions);

#endif
