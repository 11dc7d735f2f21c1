/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public types from inside, and what the files of this room share.
 *
 * One mutex guards a client. Whoever drives it makes turns: wait for the sockets without the
 * mutex, then handle what came with it, then run callbacks without it. The driver is the I/O
 * thread, a caller of redlock_process(), or one of the threads blocked in a call; there is never
 * more than one at a time (`turning`, and `seat.driver` where the I/O thread let a caller drive).
 */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/survey.h"
#include "engine/watch.h"
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

/* A call that waits for its outcome; on the stack of the thread that made it. */
enum rl_blocked_word {
    RL_AWAKE,
    RL_ASLEEP,
    RL_DRIVE, /* nobody makes turns any more: do it */
    RL_FINISHED,
};

struct rl_blocked {
    atomic_uint word; /* enum rl_blocked_word; slept on, and changed with the mutex held */
    int result;       /* once it is FINISHED */
    int64_t alone_ns; /* when it began, if no other was under way then; else 0 */
    bool drives;      /* in the client's list of those who could take over */
    bool drove;       /* it had the seat */
    struct rl_blocked *next;
    struct rl_blocked *previous;
};

/* Something for the I/O thread to do, with the mutex held; see inbox.c. */
struct rl_order {
    struct rl_order *next;
    void (*carry_out)(redlock *client, struct rl_order *order);
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
        struct rl_order farewell; /* its owner has freed it */
    };
    union {
        struct rl_blocked *blocked; /* `done` is NULL: the call that waits; NULL: none does */
        int64_t wait_deadline_ns;   /* `done` waits for an acquisition: until when; 0: no end */
    };
    redlock_lost_fn *lost;
    redlock_jeopardy_fn *jeopardy;
    void *lost_data;                /* for both */
    struct rl_thread_token *thread; /* whom it is bound to; NULL: nobody */
    int event_fd;                   /* -1: nobody asked for one */
    uint8_t name_room;              /* bytes behind the votes; UINT8_MAX: or more */
    bool released;                  /* by its owner, with success */
    bool is_simple;                 /* no callbacks, descriptors or threads hang on it */
    /* One byte, and nobody's without the mutex: */
    enum rl_operation operation : 3;
    bool given_up : 1;    /* by us: an operation that was under way ends with CANCELED */
    bool adopted : 1;     /* freeing it gives nothing up */
    bool dropped : 1;     /* the client is closed: the engine has forgotten it */
    bool in_callback : 1; /* it cannot be freed before that returns ... */
    bool doomed : 1;      /* ... and was asked to be, from inside */

    struct rl_node_vote vote[]; /* of every node; behind them the name */
};

/*
 * The driver's seat of a client with an I/O thread; see seat.c. Nobody's without the mutex, but
 * for `uses`.
 */
struct rl_seat {
    bool open;                 /* the I/O thread rests: a caller that is alone may drive */
    struct rl_blocked *driver; /* whose call drives; NULL: nobody's */
    atomic_uint uses;          /* how often it was taken */
    uint32_t visitors;         /* in the seat, or about to notice that they are not any more */
    uint32_t lone_count;       /* calls in a row that were alone and answered quickly */
    struct rl_blocked *leaver; /* the last of them: it is told its outcome when the turn ends */
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
    struct rl_blocked *blocked;         /* who could drive */
    uint32_t pursued;                   /* handles with an operation under way */

    bool threaded;
    bool stopping;
    bool closing; /* nothing new begins */
    pthread_t thread;
    bool turning;         /* somebody drives */
    bool sleeping;        /* and waits without the mutex */
    bool woken;           /* the wake-up is already on its way */
    atomic_bool dozing;   /* the I/O thread sleeps, or is about to: it must be woken */
    atomic_uint in_calls; /* threads whose orders are under way */
    _Atomic(struct rl_order *) inbox; /* orders for the I/O thread, the latest first */
    struct rl_seat seat;
    bool calling; /* callbacks run, on this thread: */
    pthread_t caller;
    pthread_cond_t turn_cond; /* a turn or a callback has ended */
    int64_t turned_ns;        /* when the last turn looked at the sockets */
};

static inline bool rl_is_under_way(enum rl_operation operation)
{
    return operation != RL_NO_OPERATION && operation != RL_RETURNING;
}

/* What the owner of a handle waits for from now on; the client counts operations under way. */
static inline void rl_operation_set(redlock_lock *lock, enum rl_operation operation)
{
    lock->client->pursued += (uint32_t)rl_is_under_way(operation);
    lock->client->pursued -= (uint32_t)rl_is_under_way(lock->operation);
    lock->operation = operation;
}

/*
 * A9, at the last moment: has a finite wait (deadline_ns > 0) ended? Waits without an end, and
 * requests that are tried once, read no clock.
 */
bool rl_is_too_late(int64_t wait_deadline_ns);

/* Every handle, and the spare ones: the engine's lists are of handles, which begin locks. */
static inline redlock_lock *rl_first_lock(const redlock *client)
{
    return (redlock_lock *)LIST_FIRST(&client->engine.handles);
}

static inline redlock_lock *rl_next_lock(const redlock_lock *lock)
{
    return (redlock_lock *)LIST_NEXT(&lock->handle, all);
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
/* The same while whoever makes turns sleeps, who is woken if there is news already. */
void rl_send_now(redlock *client);
void rl_serve_events(redlock *client, const struct epoll_event *events, int count);
void rl_arm(redlock *client);
void rl_wake(redlock *client);
int rl_thread_start(redlock *client);
void rl_thread_stop(redlock *client);
void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns);

/* deliver.c */
void rl_call(redlock *client, redlock_lock *lock, redlock_done_fn *function, int error,
             void *data);
/* Brings all news to their owners; the number of callbacks that ran. */
int rl_deliver_all(redlock *client);
/* The same, up to the first news that is for a callback; false: there is such. */
bool rl_deliver_quietly(redlock *client);

/* blocking.c */
/* Waits for the outcome of the lock's operation; the mutex is held, before and after. */
int rl_wait_finished(redlock *client, redlock_lock *lock);
/* The same; afterwards the mutex is not held. */
int rl_wait_unlocked(redlock *client, redlock_lock *lock);
/* The outcome for whoever waits for it; nobody may. */
void rl_finish_blocked(redlock *client, redlock_lock *lock, int result);
void rl_look_first(redlock *client);
void rl_hand_over(redlock *client);

/* One call and one outcome, for calls that go through the inbox. */
void rl_blocked_finish(struct rl_blocked *blocked, int result);
int rl_blocked_await(struct rl_blocked *blocked);

/* inbox.c */
bool rl_inbox_takes(const redlock *client);
void rl_inbox_put(redlock *client, struct rl_order *order);
/* Puts an order in, or carries it out if nobody else is there, and waits for its outcome.
 * The word of `blocked` is ASLEEP. */
int rl_inbox_call(redlock *client, struct rl_order *order, struct rl_blocked *blocked);
void rl_inbox_serve(redlock *client);
bool rl_inbox_is_empty(redlock *client);

/* seat.c; the mutex is held, before and after unless something else is said */
bool rl_seat_take(redlock *client, struct rl_blocked *blocked);
/* For who took the seat: drives until the call is finished or the seat is taken away, and waits
 * for the outcome. Afterwards the mutex is not held. */
int rl_seat_drive(redlock *client, struct rl_blocked *blocked);
/* How long whoever makes turns may sleep: not for long beside who lost the seat just now. */
int rl_seat_patience_ms(const redlock *client, int timeout_ms);
/* A call has its outcome. True: rl_seat_lend() tells it. */
bool rl_seat_keeps(redlock *client, struct rl_blocked *blocked);
/* Tells it now: a callback is about to run, and may take its time. */
void rl_seat_tell(redlock *client);
/* For the I/O thread, after every turn: rests while a caller can do its work. */
void rl_seat_lend(redlock *client);
/* The I/O thread has ended: nobody is in the seat afterwards. */
void rl_seat_clear(redlock *client);

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

/* bound.c: locks that end with their thread */
int rl_bind_thread(redlock *client, redlock_lock *lock);
void rl_unbind_thread(redlock *client, redlock_lock *lock);
void rl_release_orphaned(redlock *client, int64_t now_ns);

/* doubts.c: what is told to redlock_options.warn */
int rl_tell_doubts(redlock *client);
bool rl_has_doubts(const redlock *client); /* that were not told yet */

/* report.c */
void rl_report_lock(const redlock_lock *lock, redlock_report *out);
void rl_report_survey(redlock *client, const struct rl_survey *survey, redlock_report *out);
void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out);
int rl_struct_check(const char *what, const void *out);
void rl_struct_fill(void *out, const void *known, size_t known_size);

#endif
