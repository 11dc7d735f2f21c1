/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public types from inside, and what the files of this room share.
 *
 * One mutex guards a client. Whoever drives it makes turns: wait for the sockets without the
 * mutex, then handle what came with it, then run callbacks without it. The driver is the I/O
 * thread, a caller of redlock_process(), or one of the threads blocked in a call; there is never
 * more than one at a time (`turning`). order.h says how a call reaches the driver.
 */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/bound.h"
#include "client/order.h"
#include "engine/engine.h"
#include "io/conn.h"
#include "io/entropy.h"
#include "redlock.h"

#define RL_LOCKS_KEPT 1024
#define RL_MS_NS RL_NS_PER_MS

/* What the owner of a handle is waiting for. */
enum rl_operation {
    RL_NO_OPERATION,
    RL_ACQUISITION,
    RL_EXTENSION,
    RL_RELEASE,
    RL_QUESTION,
    /* Acquired, with callbacks: they wait until the blocked caller is awake and has it. */
    RL_RETURNING,
};

/* Names as they are asked for: sorted, each once. Points to the caller's strings. */
struct rl_names {
    size_t count;
    struct rl_slice name[REDLOCK_NAMES_MAX];
    struct rl_slice owner; /* REENTRANT */
};

/*
 * A lock as its owner knows it. A client may hold a hundred thousand: what is needed only for a
 * while is elsewhere (engine/seeker.h), and the texts are as long as they need to be.
 */
struct redlock_lock {
    struct rl_handle handle; /* first: the engine hands this back; its list is ours as well */
    redlock *client;
    union {
        struct {
            redlock_done_fn *done; /* of the operation; NULL: a thread is blocked in a call */
            void *done_data;
        };
        struct rl_order free_order; /* its owner has freed it */
    };
    union {
        struct rl_call *call;     /* `done` is NULL: the call that waits; NULL: none does */
        int64_t wait_deadline_ns; /* `done` waits for an acquisition: until when; 0: no end */
    };
    redlock_lost_fn *lost;
    redlock_jeopardy_fn *jeopardy;
    void *lost_data;      /* for both */
    struct rl_bond *bond; /* to a thread; NULL: to none */
    int event_fd;         /* -1: redlock_event_fd() was not called */
    uint8_t name_room;    /* bytes behind the votes; UINT8_MAX: or more */
    bool released;        /* by its owner, with success */
    bool is_simple;       /* no callbacks, descriptors or threads hang on it */
    /* One byte, to be touched with the mutex held only: */
    enum rl_operation operation : 3;
    bool given_up : 1;    /* by us: an operation that was under way ends with CANCELED */
    bool adopted : 1;     /* freeing it gives nothing up */
    bool dropped : 1;     /* the client is closed: the engine has forgotten it */
    bool in_callback : 1; /* it cannot be freed before that returns ... */
    bool doomed : 1;      /* ... and was asked to be, from inside */

    struct rl_node_vote vote[]; /* of every node; behind them the name */
};

struct redlock {
    pthread_mutex_t mutex;
    uint32_t stamp;      /* the process that opened it */
    uint32_t references; /* the owner until close, and every handle */
    bool closed;
    uint32_t flags;
    int64_t max_ttl_ms;
    struct rl_spread *spread; /* several quorums: what it fronts or is a member of; or NULL */
    uint32_t quorum_index;    /* among them */
    char quorum_name[REDLOCK_QUORUM_MAX + 1]; /* empty: it has none */
    char placement[RL_PLACEMENT_MAX];         /* what the nodes' markers should say of that */
    size_t prefix_size;
    char prefix[REDLOCK_PREFIX_MAX + 1];

    struct rl_engine engine;
    struct rl_reactor reactor;
    struct rl_entropy entropy;
    struct rl_conn conn[REDLOCK_NODES_MAX];
    struct rl_conn ear[REDLOCK_NODES_MAX]; /* the connections that listen */
    struct rl_url url[REDLOCK_NODES_MAX];
    struct rl_tls_context *tls;
    /* Copies of the options that the nodes' logins point to. */
    char *username;
    char *password;
    char *client_name;
    char *tls_server_name;

    redlock_lock *spare; /* for reuse: a busy client allocates nothing */
    size_t spare_count;
    redlock_warn_fn *warn;
    void *warn_data;
    uint32_t warned[REDLOCK_NODES_MAX]; /* doubts that were told, a bit each */
    struct rl_call *callers;            /* blocked calls that could drive */
    struct rl_bound_threads bound;      /* threads that locks are bound to */

    bool threaded;
    bool stopping;
    bool closing; /* nothing new begins */
    pthread_t thread;
    bool turning;       /* a thread drives */
    atomic_bool dozing; /* no driver, or one that sleeps or is about to: wake it */
    _Atomic(struct rl_order *) inbox; /* orders for the driver, the latest first */
    pthread_cond_t turn_cond;         /* a turn or a callback has ended */
    int64_t turned_ns;                /* when the last turn looked at the sockets */
};

/*
 * A9, at the last moment: has a finite wait (deadline_ns > 0) ended? Waits without an end, and
 * requests that are tried once, read no clock.
 */
bool rl_is_too_late(int64_t wait_deadline_ns);

/* Every handle, and the spare ones: the engine's lists are of handles, which begin locks. */
static inline redlock_lock *rl_first_lock(const redlock *client)
{
    return (redlock_lock *)client->engine.handles;
}

static inline redlock_lock *rl_next_lock(const redlock_lock *lock)
{
    return (redlock_lock *)lock->handle.next;
}

/* Of several names, the first. */
static inline char *rl_lock_name(const redlock_lock *lock)
{
    return (char *)(lock->vote + lock->client->engine.policy.node_count);
}

/* What a client is among others; an only one has no spread. */
struct rl_membership {
    struct rl_spread *spread;
    uint32_t index;
    const char *name;
    uint64_t set; /* fingerprint of all the names */
};

/* open.c: the options have been read */
int rl_client_open(const redlock_options *o, const struct rl_membership *membership,
                   redlock **out);
bool rl_same_place(const struct rl_url *a, const struct rl_url *b);

/* guard.c: every public call begins here */
int rl_client_enter(redlock *client, bool blocking);
int rl_client_check(const redlock *client); /* without entering */
void rl_client_leave(redlock *client);
bool rl_client_is_forked(const redlock *client);

/* options.c */
int rl_options_read(const redlock_options *given, redlock_options *out);
int rl_request_read(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *given, redlock_request *out, struct rl_names *names);
int rl_struct_read(const char *what, const void *given, size_t given_size, void *out,
                   size_t known_size);
/* Do the prefix and this name make a key of those that stand beside locks? */
bool rl_is_reserved(const redlock *client, const char *name, size_t length);
int rl_name_check(const redlock *client, const char *name, size_t *length);
int rl_names_read(const redlock *client, const char *name, redlock_request *r,
                  struct rl_names *out);
int rl_ttl_check(const redlock *client, int64_t ttl_ms);

/* detail.c: what redlock_detail() says; returns `error` */
int rl_detail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rl_detail_system(const char *what, int error);

/* explain.c: " of quorum 'east'", or nothing where there is but one */
#define RL_OF_QUORUM_MAX (REDLOCK_QUORUM_MAX + 16)
const char *rl_of_quorum(const redlock *client, char text[RL_OF_QUORUM_MAX]);
/* The same as rl_detail() for an operation that the nodes decided. */
int rl_explain(const redlock_lock *lock, enum rl_operation operation, int error);

/* turn.c */
int rl_turn(redlock *client, int timeout_ms);
void rl_tick(redlock *client, int64_t now_ns);
/* One write per node for everything that is there; the timer is set to what is due next. */
void rl_send_all(redlock *client);
void rl_wake(redlock *client);
int rl_thread_start(redlock *client);
void rl_thread_stop(redlock *client);
void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns);

/* deliver.c */
void rl_run_callback(redlock *client, redlock_lock *lock, redlock_done_fn *function, int error,
                     void *data);
/* Brings all news to their owners; the number of callbacks that ran. */
int rl_deliver_all(redlock *client);

/* handles.c */
redlock_lock *rl_lock_new(redlock *client, const struct rl_names *names,
                          const struct rl_lock_terms *terms);
/* The same for one name; size 0: for none. */
redlock_lock *rl_lock_new_for(redlock *client, const char *name, size_t name_size,
                              const struct rl_lock_terms *terms);
void rl_lock_discard(redlock *client, redlock_lock *lock, bool give_up);

/* close.c */
void rl_client_tear_down(redlock *client);
void rl_client_unref(redlock *client);
/* The steps of redlock_close(): nothing new begins; locks are given up; the end, at end_ns. */
void rl_close_announce(redlock *client);
void rl_close_begin(redlock *client);
void rl_close_end(redlock *client, int64_t end_ns);
void rl_close_in_child(redlock *client);

/* doubts.c: what is told to redlock_options.warn */
int rl_tell_doubts(redlock *client);

/* query.c: asks all nodes, and waits; the mutex is held, before and after */
int rl_ask(redlock *client, redlock_lock *lock, enum rl_op question, struct rl_survey *survey);

/* report.c */
void rl_report_lock(const redlock_lock *lock, redlock_report *out);
void rl_report_survey(redlock *client, const struct rl_survey *survey, redlock_report *out);
void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out);
int rl_struct_check(const char *what, const void *out);
void rl_struct_fill(void *out, const void *known, size_t known_size);

#endif
