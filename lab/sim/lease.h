/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that use a lock service: each names its acquisition by a tag and asks any of the
 * replicas (service.h) to acquire (PUT), to renew by the grant that an answer gave (POST), to
 * release (DELETE), or to stream. Requests are repeated elsewhere, copied by proxies and late;
 * answers are lost; connections break; replicas die. docs/simulator.md has what is checked.
 */
#ifndef SIM_LEASE_H
#define SIM_LEASE_H

#include "lab/sim/app.h"
#include "lab/sim/oracle.h"

enum sim_lease_phase {
    SIM_LEASE_NEW,   /* wants a lock, with a new tag */
    SIM_LEASE_ASKS,  /* has requested it */
    SIM_LEASE_HOLDS, /* was answered that it holds it */
    SIM_LEASE_ENDS,  /* was answered that its tag is held, or used: releases it by the tag */
};

struct sim_lease {
    enum sim_lease_phase phase;
    uint32_t number; /* of the acquisition; its tag says it */
    bool fair;
    bool may;                      /* it has the right to the lock */
    bool has_grant;                /* an answer has given it */
    struct sim_worker *connection; /* of its stream; NULL: none */
    struct sim_grant grant; /* its hold is what it wants; the value, once it was granted */
    struct sim_grant old;   /* of the acquisition before, for requests that are late */
    int64_t believed_ns;    /* it may act until then, true time; 0: it may not */
    int64_t held_ns; /* until then a client was answered that this tag is held; 0: never */
    bool ended;      /* it was released since, or that was requested */
};

/* An idle worker takes a request of some lease. */
void sim_lease_serve(struct sim_world *world, struct sim_worker *worker);

/* What reaches the program of this request. With the deadline, of a grant or a renewal: */
void sim_lease_held(struct sim_world *world, struct sim_worker *worker,
                    const struct lease_deadline *deadline, bool with_grant);
void sim_lease_reconnects(struct sim_world *world, struct sim_worker *worker,
                          const struct lease_deadline *deadline);
void sim_lease_refused(struct sim_world *world, struct sim_worker *worker,
                       enum lease_answer answer, int error);
/* Its connection ends, which it learns of or, if it hangs and its replica cut it, does not; or
 * its machine does. */
void sim_lease_closed(struct sim_world *world, struct sim_worker *worker);
void sim_lease_cut(struct sim_worker *worker);
void sim_lease_dies(struct sim_world *world, struct sim_worker *worker);

/* The replica of this worker has granted or ended the acquisition: it does not grant it
 * again. */
void sim_lease_spent(struct sim_worker *worker);
/* A majority has it for so long, whether or not a client is. */
void sim_lease_note_held(const struct sim_world *world, struct sim_worker *worker);

#endif
