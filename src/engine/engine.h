/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine ties decisions (core) to bytes (wire) for one client: it owns the nodes' sessions
 * and the claims, carries out what a lock's step asks for, and brings every reply back to the
 * lock it belongs to.
 *
 * It makes no system call. Whoever drives it (the client with real sockets, a simulator with
 * imagined ones) tells it the time, what arrived and which connections came and went, and
 * takes away the bytes to send and the handles that have news.
 *
 * Not thread-safe: the client calls it under its mutex.
 */
#ifndef RL_ENGINE_ENGINE_H
#define RL_ENGINE_ENGINE_H

#include "core/lock.h"
#include "engine/ask.h"
#include "engine/claim.h"
#include "engine/hear.h"
#include "engine/line.h"
#include "engine/seeker.h"
#include "engine/survey.h"
#include "engine/timers.h"
#include "engine/vote.h"
#include "protocol/session.h"

#define RL_ORPHANS_MAX 4096
#define RL_VALUE_RANDOM_BYTES 20
#define RL_VALUE_DRAWN (2 * RL_VALUE_RANDOM_BYTES)
#define RL_SLOT_MAX 5 /* the slot of a semaphore behind it: #1024 */

typedef void rl_random_fn(void *data, void *bytes, size_t size);
typedef int rl_secret_fn(void *data, void *bytes, size_t size); /* -1: there is none */

/*
 * The second connection to a node, which only listens: it is made when somebody first has to
 * wait, and shared by all waiters. What it says only makes waiting shorter.
 */
struct rl_ear {
    struct rl_login login;
    struct rl_session session;
    bool is_up; /* subscribed */
    /* Messages that concerned no waiter of ours, in the second that began then. */
    uint32_t vain_count;
    int64_t vain_since_ns;
};

/* rl_ear_received(): the node floods us; it gets another connection only after a long delay. */
#define RL_EAR_FLOODED (-2)

/* A grant that nobody counts before its witness has spoken (witness.c). */
struct rl_unconfirmed {
    struct rl_pending request; /* holds a reference to the claim */
    int64_t token;
};

struct rl_node {
    struct rl_login login;
    struct rl_session session;
    struct rl_ear ear;
    char address[REDLOCK_ADDRESS_MAX];

    /*
     * Claims whose release could not be delivered because their connection broke: it goes on
     * the next one, best effort (A5). Each holds a reference.
     */
    struct rl_claim **orphan;
    uint32_t orphan_count;
    bool orphans_sent; /* with the connection under way: worth a moment's wait at close */

    struct rl_unconfirmed *unconfirmed;
    uint32_t unconfirmed_count;
    uint32_t unconfirmed_capacity;

    bool warming;         /* the very first connection is still being made */
    bool connected;       /* the transport is there */
    int64_t connected_ns; /* since when */
    uint32_t connects;
    int32_t rtt_us; /* smoothed; -1: none yet */
};

struct rl_handle {
    struct rl_timer timer; /* first, so that a due timer is its handle */
    struct rl_lock lock;
    struct rl_claim *claim; /* of the current attempt; before the first, without a value */
    struct rl_handle *next; /* in the engine's list of all */
    struct rl_handle *previous;

    /* News for the owner, taken by rl_engine_take_ready(). */
    struct rl_handle *ready_next;
    struct rl_handle *ready_previous;
    bool ready : 1; /* in that list */
    bool done : 1;
    bool lost : 1;
    bool jeopardy : 1;
    bool recovered : 1;
    int8_t done_error;
    int8_t prepare_error; /* the last attempt could not even be made: NOMEM, SYSTEM; or OK */
};

/* What it has until its lock is held; NULL from then on. */
static inline struct rl_seeker *rl_seeker_of(const struct rl_handle *handle)
{
    return (struct rl_seeker *)handle->lock.acquisition;
}

/* The question that it is instead of a lock; NULL: a lock. */
static inline struct rl_survey *rl_survey_of(const struct rl_handle *handle)
{
    return handle->lock.acquisition ? rl_seeker_of(handle)->survey : NULL;
}

/* Where it waits; NULL: nowhere. */
static inline struct rl_line *rl_line_of(const struct rl_handle *handle)
{
    return handle->lock.acquisition ? rl_seeker_of(handle)->line : NULL;
}

/*
 * Who gives a lock back while others wait, and asks for it again, is the nearest of all: its
 * request may arrive before any of them has heard that the lock is free, every time. For a while
 * after such a release this client queues like everybody else, by a hash of the key.
 */
#define RL_COURTESIES 64
struct rl_courtesy {
    uint64_t hash;
    int64_t until_ns;
};

struct rl_engine {
    struct rl_policy policy;
    enum rl_guard_mode guard_mode;
    int64_t max_ttl_ns;        /* of any client of the nodes */
    struct rl_slice placement; /* which quorum of which set this is; empty: the only one */
    int64_t stall_ns;          /* a node this long silent with requests pending is given up */
    struct rl_node node[REDLOCK_NODES_MAX];
    struct rl_timers timers;
    struct rl_handle *handles; /* every one */
    size_t handle_count;
    struct rl_claims claims;
    struct rl_seekers seekers;
    struct rl_handle *ready_first;
    struct rl_handle *ready_last;
    rl_random_fn *random; /* spreads attempts; may be guessed */
    rl_secret_fn *secret; /* values and names: unguessable, and never the same twice */
    void *random_data;    /* for both */
    bool strict;          /* acquires read the nodes' markers (G2) */
    char id[RL_CLIENT_ID_SIZE + 1]; /* who we are in the nodes' queues; random */
    char channel[sizeof RL_WAKE_PREFIX + RL_CLIENT_ID_SIZE];
    struct rl_lines lines;
    struct rl_courtesy courtesy[RL_COURTESIES];
    bool listening;    /* somebody had to wait: the ears are wanted */
    uint8_t ear_count; /* that are up */

    /* Keeping an eye on the nodes (watch.c). */
    int64_t watch_at_ns; /* when to look again; RL_NEVER_NS: nothing to look at */
    bool clock_trial;    /* a clock stepped: whose was it? Fresh samples are on their way. */
    int64_t clock_trial_since_ns;
};

/* Everything constant must be set before: policy, guard, random, logins. NOMEM, SYSTEM (no
 * randomness) or OK. */
int rl_engine_init(struct rl_engine *engine);
void rl_engine_free(struct rl_engine *engine);

/* ---- connections, told by the driver (node.c) ---- */

/* A connection is being made: requests may be queued from now on, behind the greeting. */
void rl_engine_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The transport is there: bytes can flow. */
void rl_engine_connected(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The connection failed or broke: everything without a reply gets `vote`. */
void rl_engine_disconnected(struct rl_engine *engine, uint8_t node, enum redlock_vote vote,
                            const char *text, int64_t now_ns);
/* Connected, asked, and silent for too long: the driver should close it. */
bool rl_engine_is_stalled(const struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* ---- time ---- */

int64_t rl_engine_next_ns(const struct rl_engine *engine);
void rl_engine_tick(struct rl_engine *engine, int64_t now_ns);

/* ---- handles (handle.c) ---- */

/*
 * The texts are copied; the votes, room for one of every node, must outlive the handle.
 * -1: out of memory.
 */
int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle,
                   const struct rl_about *about, const struct rl_lock_terms *terms,
                   struct rl_node_vote *votes);
void rl_handle_acquire(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                       int64_t wait_deadline_ns, int64_t now_ns);
int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size);
void rl_handle_extend(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                      int64_t now_ns);
void rl_handle_release(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
void rl_handle_cancel(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/* Acquired, but the wait ended before the owner was told: nothing is held afterwards, no news. */
void rl_handle_take_back(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/* One question to every node (RL_OP_LOOK, RL_OP_PING, RL_OP_ADMIT, ...). */
int rl_handle_ask(struct rl_engine *engine, struct rl_handle *handle, enum rl_op question,
                  struct rl_survey *survey, int64_t now_ns);
/* A node's memory or clock is not to be trusted: holds that lean on it are told. */
void rl_handles_node_out(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* Our own clock is not to be trusted: all holds are over. */
void rl_handles_our_clock(struct rl_engine *engine, int64_t now_ns);
/* Forgets the handle. give_up: what it holds or tries to get is released on every node. */
void rl_handle_drop(struct rl_engine *engine, struct rl_handle *handle, bool give_up,
                    int64_t now_ns);

/* The next handle with news, or NULL. */
struct rl_handle *rl_engine_take_ready(struct rl_engine *engine);
void rl_engine_forget_ready(struct rl_engine *engine, struct rl_handle *handle);

/* ---- between node.c and handle.c ---- */

/* One node's answer to a question (question.c). */
void rl_question_answer(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                        enum rl_op op, const struct rl_reply *reply, struct rl_answer answer,
                        int64_t now_ns);
void rl_question_timer(struct rl_engine *engine, struct rl_handle *handle, uint16_t warming,
                       int64_t warm_at_ns, int64_t now_ns);
/* Two characters a byte, not terminated. */
void rl_write_hex(const uint8_t *bytes, size_t size, char *out);
/* The handle has news. */
void rl_engine_add_ready(struct rl_engine *engine, struct rl_handle *handle);
/* A timer came up. */
void rl_handle_timer(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/* Keeps a release for the node's next connection. */
void rl_node_keep_orphan(struct rl_engine *engine, uint8_t node, struct rl_claim *claim,
                         int64_t now_ns);

/* One event for the lock, and whatever follows from it. */
void rl_handle_step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event);

/* ---- waiting.c ---- */

/* The next of our waiters has its turn, as soon as the timers are looked at. */
void rl_leave_line(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/* Our own release is on its way: whoever of ours is next follows at once. */
void rl_wake_our_own(struct rl_engine *engine, const struct rl_handle *released,
                     int64_t now_ns);
/* May the attempt that begins now be a plain one, because our own release is in front of it? */
bool rl_may_follow(const struct rl_engine *engine, const struct rl_handle *handle,
                   int64_t now_ns);
/* What a release in front of such an attempt found: does anybody wait there? */
void rl_note_given_back(struct rl_engine *engine, uint8_t node,
                        const struct rl_pending *request, const struct rl_answer *answer);
void rl_be_courteous(struct rl_engine *engine, const struct rl_claim *claim, int64_t now_ns);
bool rl_is_courteous(const struct rl_engine *engine, const struct rl_handle *handle,
                     int64_t now_ns);
/* Who is first in that line was told that the lock may be free on those nodes. */
void rl_handle_wake(struct rl_engine *engine, struct rl_handle *handle, uint16_t nodes,
                    uint16_t slot, int64_t now_ns);
/* The node may have called while nobody listened: who is asking it asks again. */
void rl_handles_wake(struct rl_engine *engine, uint8_t node, bool sleepers, int64_t now_ns);
/* The number of waiters of this client that are ahead, and of the nodes' queue. */
uint32_t rl_handle_position(const struct rl_handle *handle);

/* ---- the ears, told by the driver as for the nodes' other connections (ear.c) ---- */

/* The session stays down when there is no memory. */
void rl_ear_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
void rl_ear_disconnected(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* -1 and RL_EAR_FLOODED: the driver must close the connection and tell. */
int rl_ear_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns);

/* ---- watch.c ---- */

/* Looks at what is due: admissions, repeated checks, clock samples. */
void rl_watch_tick(struct rl_engine *engine, int64_t now_ns);
/* Before a request that leans on a node's clock: a sample, unless there is a recent one. */
void rl_watch_use(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* After a node's replies: did its clock step, or its standing change? */
void rl_watch_heard(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* What a person should know about a node's quarantine; empty when it has none. */
void rl_watch_describe(const struct rl_guard *guard, int64_t now_ns, char *out, size_t size);

#endif
