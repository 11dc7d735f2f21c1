/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handle is one lock of the client: the core's lock, its current attempt, a
 * timer, and news for the owner. Calls of the owner, replies and timers become events; the
 * core's step decides, and its actions are carried out (send.c).
 */
#ifndef RL_ENGINE_HANDLE_H
#define RL_ENGINE_HANDLE_H

#include <sys/queue.h>

#include "base/timers.h"
#include "core/lock.h"
#include "engine/attempt.h"
#include "engine/local_queue.h"
#include "protocol/value.h"

struct rl_survey;

struct rl_handle {
    struct rl_timer timer; /* first, so that a due timer is its handle */
    struct rl_lock lock;
    struct rl_attempt *attempt; /* the current one; before the first, without a value */
    LIST_ENTRY(rl_handle) all;  /* in the engine's list */

    /* News for the owner, until rl_engine_remove_ready(). */
    TAILQ_ENTRY(rl_handle) in_ready;
    bool ready : 1; /* in that list */
    bool done : 1;
    bool lost : 1;
    bool jeopardy : 1;
    bool recovered : 1;
    bool placed : 1; /* its pending acquire's reported_place has changed */
    int8_t done_error;
    int8_t prepare_error; /* the last attempt could not even be made: NOMEM, SYSTEM; or OK */
};

LIST_HEAD(rl_handles, rl_handle);
TAILQ_HEAD(rl_ready, rl_handle);

/*
 * The holder that is in the way of an acquisition, as the refusing nodes name it: for the
 * message of a refusal and for a caller that waits. One value is kept, not one for every node.
 * It gives way to another only when no node names it any more, so that the holder on most nodes
 * stays.
 */
struct rl_current_holder {
    uint16_t nodes; /* that name it, a bit each; 0: it is gone, or never was */
    uint8_t size;
    uint32_t waiters; /* on the node that reported most */
    int64_t since_ns; /* when it was first named */
    int64_t ends_ns;  /* the latest that its keys may live, as far as known; 0: unknown */
    char value[REDLOCK_VALUE_MAX];
};

/*
 * What a handle has only until its lock is held: the core's acquisition, and its place in the
 * local queue. A client holds many locks and acquires few at a time, so this is kept apart and
 * goes back to a pool as soon as the lock is held. A survey has one for as long as it lives.
 */
struct rl_pending_acquire {
    struct rl_acquisition acquisition; /* first: the lock points to it */
    struct rl_handle *handle;
    struct rl_survey *survey; /* a request to the nodes instead of a lock; NULL: a lock */
    int64_t requested_ns;     /* when it was begun */

    /* Waiting. */
    struct rl_local_queue *queue; /* NULL: not waiting */
    TAILQ_ENTRY(rl_pending_acquire) in_queue;
    uint64_t waiter;         /* the name of the head of the local queue at the nodes */
    bool became_head;        /* it has become the head ... */
    bool client_holds;       /* ... because the one before it holds the lock now */
    bool behind_release;     /* what it sends now travels right behind our own release */
    bool wants_place;        /* its changes are news for the owner */
    uint32_t reported_place; /* the last that was news for the owner; 0: none */

    /* For the values of its attempts (protocol/value.h); of size 0: none. */
    uint8_t tag_size;
    uint8_t label_size;
    bool drew; /* with a tag: `digits` are drawn */
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE];
    char digits[RL_VALUE_REQUEST_DIGITS]; /* with a tag: what the values of all attempts have */
    char label[REDLOCK_LABEL_MAX];
    struct rl_current_holder current_holder;
};

/* NULL once its lock is held. */
static inline struct rl_pending_acquire *rl_pending_acquire_of(const struct rl_handle *handle)
{
    return (struct rl_pending_acquire *)handle->lock.acquisition;
}

/* The survey that it is instead of a lock; NULL: a lock. */
static inline struct rl_survey *rl_survey_of(const struct rl_handle *handle)
{
    return handle->lock.acquisition ? rl_pending_acquire_of(handle)->survey : NULL;
}

/* Where it waits; NULL: nowhere. */
static inline struct rl_local_queue *rl_local_queue_of(const struct rl_handle *handle)
{
    return handle->lock.acquisition ? rl_pending_acquire_of(handle)->queue : NULL;
}

/* ---- current_holder.c ---- */

/* What a node answered to an attempt or an inquiry. */
void rl_current_holder_note(struct rl_current_holder *holder, uint8_t node,
                            const struct rl_answer *answer, int64_t now_ns);

/* Of a waiter that is not at the head of its local queue: the head's. NULL: there is none. */
const struct rl_current_holder *rl_current_holder_of(const struct rl_handle *handle);

/* ---- handle.c ---- */

/*
 * The texts are copied; the votes, room for one of every node, must outlive the handle.
 * -1: out of memory.
 */
int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle,
                   const struct rl_about *about, const struct rl_lock_terms *terms,
                   struct rl_node_vote *votes);
void rl_handle_acquire(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                       int64_t wait_deadline_ns, int64_t now_ns);
/* knows_kind: its terms are those it was acquired with; else it may be of any kind. */
int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size, bool knows_kind);
void rl_handle_extend(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                      int64_t now_ns);
void rl_handle_release(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
void rl_handle_cancel(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/*
 * The owner learns of its grant now, or never: OK, or TIMEOUT when the wait has ended (0: it
 * was tried once) or the hold is lost or over by the clock, and the grant is taken back (A9).
 */
int rl_handle_hand_out(struct rl_engine *engine, struct rl_handle *handle,
                       int64_t wait_deadline_ns, int64_t now_ns);
/* Acquired, but its owner will not learn of it: nothing is held afterwards, no news. */
void rl_handle_take_back(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
/* Forgets the handle. give_up: what it holds or tries to get is released on every node. */
void rl_handle_drop(struct rl_engine *engine, struct rl_handle *handle, bool give_up,
                    int64_t now_ns);

/* One event for the lock, and everything that follows from it. */
void rl_handle_step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event);
/* The same event for every lock; of_attempts: only for those that are being acquired. */
void rl_handles_step(struct rl_engine *engine, const struct rl_event *event, bool of_attempts);

/* The handle has news. */
void rl_engine_add_ready(struct rl_engine *engine, struct rl_handle *handle);
/* Its owner has them. */
void rl_engine_remove_ready(struct rl_engine *engine, struct rl_handle *handle);

#endif
