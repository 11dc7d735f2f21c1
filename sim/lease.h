/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holders of leases, as programs that use a lock service: each names its acquisition by a tag and
 * asks any of the clients, which are the replicas of the service, to acquire (PUT), to renew by the
 * value that an answer gave (POST), and to release by tag or value (DELETE). Requests are repeated
 * elsewhere, copied and late; answers are lost; replicas die. docs/simulator.md has what is checked.
 */
#ifndef SIM_LEASE_H
#define SIM_LEASE_H

#include "sim/app.h"
#include "sim/oracle.h"

enum sim_lease_phase {
    SIM_LEASE_NEW,   /* wants a lock, with a new tag */
    SIM_LEASE_ASKS,  /* has asked for it */
    SIM_LEASE_HOLDS, /* was told that it holds it */
    SIM_LEASE_ENDS,  /* was told that its tag is held: releases it by the tag */
};

/* What an answer gave, and what renewing it needs. */
struct sim_grant {
    struct sim_hold hold;
    char value[SIM_HOLD_SIZE]; /* empty: none */
    int64_t fence;
};

struct sim_lease {
    enum sim_lease_phase phase;
    uint32_t number; /* of the acquisition; its tag says it */
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    bool fair;
    struct sim_grant grant; /* its hold is what it wants; the value, once it was told */
    struct sim_grant old;   /* of the acquisition before, for requests that are late */
    int64_t believed_ns;    /* it may act until then, true time; 0: it may not */
    int64_t held_ns;        /* until then a client was told that this tag is held; 0: never */
    bool ended;             /* it was released since, or that was asked for */
};

/* An idle worker takes a request of some lease. */
void sim_lease_serve(struct sim_world *world, struct sim_worker *worker);
/* An operation of a worker that serves a lease has ended. */
void sim_lease_finished(struct sim_world *world, struct sim_worker *worker,
                        enum sim_operation operation, int error);
/* A handle that was kept is left now, or on elected votes renewed again, as that of a stream is. */
void sim_lease_go_on(struct sim_world *world, struct sim_worker *worker);

#endif
