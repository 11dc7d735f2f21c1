/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The application: workers that acquire locks, hold them for a while, extend and release them,
 * cancel, or forget them, for themselves or for holders of leases (lease.h). Each does what the
 * public calls (src/client) allow, and no more.
 */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "engine/engine.h"
#include "engine/survey.h"
#include "lab/fake/lua.h"
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
    bool leaves;               /* of a local stream: its close is to release nothing */
    char value[SIM_HOLD_SIZE]; /* empty: none */
    int64_t fence;
    uint32_t spent[SIM_CLIENTS_MAX]; /* replicas that granted or ended it: their life + 1 */
};

/* What the connection of a request does next. */
enum sim_fate { SIM_STAYS, SIM_SENDS, SIM_CLOSES, SIM_CUTS, SIM_VANISHES };

/* A request to a replica of the service, as its worker carries it out (service.h, lease.h). */
struct sim_exchange {
    struct lease rules;     /* the file that ships decides by it */
    struct sim_grant grant; /* as it was when the request came */
    bool is_copy;           /* of a proxy: the program does not read its answer */
    bool by_value;          /* it has the Grant */
    bool is_other;          /* PUT: it requests something else than the first with this id */
    bool is_kept;           /* PUT: its handle deletes nothing by itself */
    bool is_settled;        /* another request of its id has decided about it */
    bool was_granted;
    bool was_sent;      /* a stream: a byte of `granted` was sent */
    bool client_gone;   /* it has closed */
    bool has_vanished;  /* it acknowledges nothing any more */
    bool rests;         /* it is over, and its handle is freed later */
    enum sim_fate fate; /* of its connection, then, true time: */
    int64_t fate_ns;
    int64_t older_ns;        /* the connection whose wait it took over ends; 0: there is none */
    int64_t sent_ns;         /* when its program began to send, true time */
    int64_t holder_rate_ppb; /* of the clock of that program */
    struct lease_deadline sent; /* 201 is written */
};

#define SIM_KEYS_SIZE 80
#define SIM_IDENTITY_SIZE 82 /* run_id:replid */

struct sim_client;
struct sim_lease;
struct sim_world;

enum sim_operation { SIM_NO_OPERATION, SIM_ACQUIRE, SIM_EXTEND, SIM_RELEASE };

/* What a worker's requests did on one node, as the oracles need it. True time. */
struct sim_footprint {
    uint64_t waiter;           /* its place in the queue ... */
    int64_t queued_ns;         /* since then, without a gap */
    int64_t alive_ms;          /* until then, by the node's clock */
    bool in_key;               /* a grant of a round that may fail took the place along ... */
    char value[SIM_HOLD_SIZE]; /* ... with this value; the rollback puts it back */
    bool beside;               /* granted where its owner had another hold */
    int64_t executed_ns;       /* when its last attempt was granted */
    char identity[SIM_IDENTITY_SIZE]; /* of the server that granted or renewed it last */
    int64_t renewed_ns;
};

struct sim_worker {
    struct rl_handle handle; /* first: the engine hands this back */
    struct rl_node_vote vote[REDLOCK_NODES_MAX];
    struct sim_client *client;
    uint8_t index;
    uint8_t names; /* which, a bit each */
    uint8_t kind;  /* enum redlock_kind */
    uint16_t slots;
    bool fair;
    bool has_lock;           /* the handle is in use */
    bool held;               /* the application got the grant of the lock, and not its loss */
    char key[SIM_KEYS_SIZE]; /* of several names: one behind the other */
    char label[32];          /* for people */
    char owner[4];
    enum sim_operation operation;
    int64_t begun_ns;         /* the operation, by the client's clock */
    int64_t begun_true_ns;    /* the same in true time */
    int64_t wait_deadline_ns; /* as given */
    int64_t ttl_ns;
    bool fenced;
    bool renews;
    bool will_cancel;
    bool is_unread; /* granted, and the event has not been read */
    uint32_t extensions_left;
    int64_t hold_until_ns; /* true time */
    uint64_t plan_stamp;   /* of the event that makes it act */
    bool late;             /* it should have acted while the process was stopped */

    /* What the application may believe: until when the lock is its own (oracle_mutex.c). */
    int64_t believed_ns;  /* by the client's clock; 0: not its own */
    int64_t extending_ns; /* since then an extension is under way; 0: none is */
    int64_t watched_ns;   /* the deadline that an event waits for */
    uint64_t grants;
    struct sim_footprint footprint[SIM_SERVERS_MAX];
    uint32_t tenure;                        /* an eviction: of the group, before it was sent */
    int64_t proof_until_ns[SIM_GROUPS_MAX]; /* of each elected vote, true time; 0: none */
    uint32_t proof_round[SIM_GROUPS_MAX];   /* of the lock, that it is of */
    char proof_of[SIM_GROUPS_MAX][RL_ADMITTED_MAX]; /* the incarnation and term */
    int64_t
        missed_ns; /* when its client learned that its key is missing, true time; 0: never */
    int64_t unserved_ns; /* since then it waits for something that is free; 0: it does not */

    /* For a holder of a lease. */
    struct sim_lease *lease; /* whose request it carries out; NULL: it wants the lock itself */
    uint32_t lease_number;   /* of the acquisition that it is about; 0: an old one */
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    struct sim_exchange exchange;
    bool leaves; /* granted with KEEP, handed out, or adopted: only a release deletes it */
    char ends[SIM_HOLD_SIZE];      /* the value that it releases or evicts; empty: unknown */
    uint16_t ends_on;              /* nodes that had it then, a bit each */
    char wanted[FAKE_DIGEST_SIZE]; /* a tag and a colon, or the fingerprint of a holder ... */
    struct rl_survey survey;
    redlock_holder evicted; /* ... and what had it */
};

/* It acts again then. */
void sim_app_plan(struct sim_world *world, struct sim_worker *worker, int64_t delay_ns);
void sim_app_note(struct sim_world *world, const struct sim_worker *worker, const char *text);
/* The handle is freed; whatever it holds or waits for is given up, unless it is left. */
void sim_app_drop(struct sim_world *world, struct sim_worker *worker, const char *why);
void sim_app_begin_operation(struct sim_world *world, struct sim_worker *worker,
                             enum sim_operation operation);
/* What it wants is drawn, or with a lease that lease's. */
void sim_app_draw_wish(struct sim_world *world, struct sim_worker *worker);
void sim_app_acquire(struct sim_world *world, struct sim_worker *worker);
void sim_app_release(struct sim_world *world, struct sim_worker *worker);
/* Ends what has the tag or the fingerprint in `wanted`, on every node. */
void sim_app_evict(struct sim_world *world, struct sim_worker *worker, bool by_tag);
/* A handle for the names, kind and owner that the worker has. */
void sim_app_make_handle(struct sim_world *world, struct sim_worker *worker,
                         const struct rl_lock_terms *terms);

void sim_app_begin(struct sim_world *world, struct sim_worker *worker,
                   struct sim_client *client, uint8_t index);
/* The process is gone. */
void sim_app_end(struct sim_world *world, struct sim_worker *worker);
void sim_app_resume(struct sim_world *world, struct sim_worker *worker);
/* The engine has events. */
void sim_app_news(struct sim_world *world, struct sim_worker *worker);
/* The faults are over: finish what was begun, begin nothing new. */
void sim_app_calm(struct sim_world *world, struct sim_worker *worker);
/* The client of a worker that holds a lock; NULL: there is none. */
struct sim_client *sim_app_find_holder(struct sim_world *world);
/* A worker of another client, if one is idle, evicts a holder. */
void sim_app_break(struct sim_world *world, const struct sim_client *except);
bool sim_app_is_idle(const struct sim_worker *worker);

#endif
