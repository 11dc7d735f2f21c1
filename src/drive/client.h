/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public types from inside.
 *
 * One mutex guards a client. The driver iterates: wait for the sockets without the mutex,
 * then handle what came with it. The driver is the I/O thread, a caller of redlock_next(), or
 * one of the threads blocked in a call; there is never more than one at a time (`has_driver`).
 * submission.h has how a call reaches the driver, events.h how its owner learns what became of
 * a lock.
 */
#ifndef RL_DRIVE_CLIENT_H
#define RL_DRIVE_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "drive/events.h"
#include "drive/job.h"
#include "drive/submission.h"
#include "engine/engine.h"
#include "io/conn.h"
#include "io/entropy.h"
#include "redlock.h"

#define RL_LOCKS_KEPT 1024

/* The threads that a client watches, each with the locks that are bound to it (bound.c). */
LIST_HEAD(rl_bound_threads, rl_bound_thread);

/* What the owner of a handle is waiting for. */
enum rl_operation {
    RL_NO_OPERATION,
    RL_ACQUISITION,
    RL_EXTENSION,
    RL_RELEASE,
    RL_JOB,
};

/*
 * A lock as its owner knows it. A client may hold a hundred thousand: what is needed only for a
 * while is elsewhere (struct rl_pending_acquire), and the texts are as long as they need to be.
 */
struct redlock_lock {
    struct rl_handle handle; /* first: the engine hands this back; its list is ours as well */
    redlock *client;
    void *data; /* the caller's, for its events */
    union {
        struct {
            union {
                struct rl_call *call;     /* `blocks`: the call that waits; NULL: none does */
                int64_t wait_deadline_ns; /* not `blocks`: as struct rl_acquisition has it */
                struct rl_job *job;       /* RL_JOB: this one is to be run */
            };
            struct rl_bond *bond; /* to a thread; NULL: to none */
        };
        struct rl_submission free_submission; /* is_freed */
    };
    struct rl_unread unread;  /* events */
    uint8_t name_room;        /* bytes behind the votes; UINT8_MAX: or more */
    bool released;            /* by its owner, with success */
    bool frees_at_once;       /* bound to a thread, or its owner reads events */
    atomic_bool is_returning; /* a blocked caller has been granted it and is not awake yet */
    atomic_bool is_freed;     /* by its owner; the driver has not carried that out yet */
    /* One byte, to be touched with the mutex held only: */
    enum rl_operation operation : 3;
    bool blocks : 1;   /* its outcome is that of a blocked call, or of interest to none */
    bool given_up : 1; /* by us: an operation that was under way ends with CANCELED */
    bool adopted : 1;  /* or KEEP, and granted: freeing it gives nothing up */
    bool dropped : 1;  /* the client is closed: the engine has forgotten it */

    struct rl_node_vote vote[]; /* of every node; behind them the name */
};

/* Who drives a client with an I/O thread: that, or the reader in its place (thread.c). */
struct rl_relief {
    atomic_bool is_on;        /* the I/O thread stands by */
    atomic_uint blocked;      /* threads that wait for it in a call: then it drives */
    bool sleeps;              /* it stands by until it is woken, and looks no more by itself */
    uint32_t iterations;      /* of the reader */
    pthread_cond_t wake_cond; /* for the I/O thread */
};

/*
 * A client of one quorum. The mutex guards everything but `inbox`, `threaded`, `has_driver`,
 * `dozing` and atomics, and what never changes between open and close.
 */
struct redlock {
    pthread_mutex_t mutex;
    uint32_t stamp;      /* the process that opened it */
    uint32_t references; /* the owner until close, and every handle */
    bool closed;
    uint32_t flags;
    enum redlock_profile profile;
    int64_t max_ttl_ms;
    bool is_sharded; /* it only stands for its reader's members: see quorums/sharded.h */
    bool is_member;  /* of several quorums */
    bool is_shared;  /* and without an I/O thread: the driver of any member looks at all */
    uint32_t quorum_index;                    /* among the members */
    uint64_t quorum_seed;                     /* of its name: core/rendezvous.h */
    char quorum_name[REDLOCK_QUORUM_MAX + 1]; /* empty: it has none */
    char of_quorum[REDLOCK_QUORUM_MAX + 16];  /* for sentences: " of quorum 'east'", or empty */
    char placement[RL_SET_TAIL_MAX];          /* that and the set of quorums; may be empty */
    size_t prefix_size;
    char prefix[REDLOCK_PREFIX_MAX + 1];

    struct rl_engine engine;
    struct rl_reactor reactor;
    struct rl_entropy entropy;
    struct rl_conn conn[REDLOCK_NODES_MAX];
    struct rl_conn subscriber[REDLOCK_NODES_MAX]; /* the connections that only listen */
    struct rl_conn *elector; /* of all elected votes; NULL: there are none */
    uint32_t elector_count;
    struct rl_url url[REDLOCK_NODES_MAX];
    struct rl_url *elector_url; /* as many as elector_count */
    struct rl_tls_context *tls;
    struct rl_secret password; /* for nodes whose URL has none */
    struct rl_secret sentinel_password;
    /* Copies of the options that the nodes' logins point to. */
    char *username;
    char *sentinel_username;
    char *client_name;
    char *tls_server_name;

    struct rl_pool kept_locks; /* for reuse: a busy client allocates nothing */
    struct rl_events events;
    struct rl_reader *reader; /* of redlock_next(); a member has that of the sharded client */
    bool is_read;             /* the iteration under way is one of redlock_next() */
    bool was_interrupted;     /* a signal ended the last wait for the sockets */
    void (*notify)(void *data);
    const redlock_lock *notified; /* notify runs for it: it cannot be freed; NULL: for none */
    uint64_t warned[REDLOCK_NODES_MAX]; /* findings that were reported, RL_FINDING() each */
    struct rl_callers callers;          /* blocked calls that could drive */
    struct rl_bound_threads bound;      /* threads that locks are bound to */
    struct rl_jobs jobs;

    atomic_bool threaded; /* changes with the mutex held */
    atomic_bool driven;   /* the caller has called redlock_fd() or redlock_next() */
    bool stopping;
    bool closing; /* nothing new begins */
    pthread_t thread;
    atomic_bool has_driver;                /* a thread drives; changes with the mutex held */
    atomic_bool dozing;                    /* the driver sleeps or is about to: wake it */
    _Atomic(struct rl_submission *) inbox; /* submissions for the driver, the latest first */
    pthread_cond_t driver_cond; /* an iteration or notify has ended, or events wait */
    struct rl_relief relief;    /* REDLOCK_THREAD: of the I/O thread, by the reader */
    int64_t polled_ns;          /* when the last iteration looked at the sockets */
};

/* Of several names, the first. */
static inline char *rl_lock_name(const redlock_lock *lock)
{
    return (char *)(lock->vote + lock->client->engine.policy.node_count);
}

#endif
