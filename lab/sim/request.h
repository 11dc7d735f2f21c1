/* SPDX-License-Identifier: BSD-2-Clause */
/* A request to a replica of the service, as its worker carries it out (service.h, lease.h). */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include "lab/sim/options.h"
#include "lab/sim/oracle.h"
#include "redlock.h"
#include "redlockd/leases/lease.h"

/* An acquisition: what it wants, what an answer gave, and what renewing it needs. */
struct sim_grant {
    struct sim_hold hold;
    uint32_t number;
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    bool is_stream;
    bool is_remote;            /* over TCP */
    char value[SIM_HOLD_SIZE]; /* empty: none */
    int64_t fence;
    uint32_t spent[SIM_CLIENTS_MAX]; /* replicas that granted or ended it: their life + 1 */
};

/* What the connection of a request does next. */
enum sim_fate { SIM_STAYS, SIM_SENDS, SIM_CLOSES, SIM_CUTS, SIM_VANISHES };

struct sim_ask {
    struct lease rules;     /* the file that ships decides by it */
    struct sim_grant grant; /* as it was when the request came */
    bool is_copy;           /* of a proxy: the program does not read its answer */
    bool by_value;          /* it has the Grant */
    bool is_other;          /* PUT: it asks for something else than the first with this id */
    bool is_kept;           /* PUT: its handle deletes nothing by itself */
    bool is_settled;        /* another request of its id has decided about it */
    bool was_granted;
    bool is_told;       /* a stream: a byte of `granted` was sent */
    bool client_gone;   /* it has closed */
    bool has_vanished;  /* it acknowledges nothing any more */
    bool rests;         /* it is over, and its handle is freed later */
    enum sim_fate fate; /* of its connection, then, true time: */
    int64_t fate_ns;
    int64_t older_ns;        /* the connection whose wait it took over ends; 0: there is none */
    int64_t sent_ns;         /* when its program began to send, true time */
    int64_t holder_rate_ppb; /* of the clock of that program */
    struct lease_deadline told; /* 201 is written */
};

#endif
