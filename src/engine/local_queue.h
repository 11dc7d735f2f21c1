/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local queue: the waiters of one client for one name, in the order of their calls. Only
 * its head is sent to the nodes: the others would only compete with it, and with each other,
 * over the network.
 *
 * The number of a local queue is the name of its head in the nodes' queues, so that a wake-up
 * finds its way back; a new number is drawn whenever a place was given up, so that late
 * wake-ups and late departures find no waiter.
 *
 * Handover. When this client releases a lock, the head of its local queue need not wait for a
 * wake-up: its attempt travels right behind the release. It overtakes no other client: the
 * release shows for every node whether others wait there (nodes_without_waiters), and where
 * they do the grant is not counted (vote.c, check_overtaking).
 */
#ifndef RL_ENGINE_LOCAL_QUEUE_H
#define RL_ENGINE_LOCAL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/answer.h"
#include "core/siphash.h"
#include "engine/pool.h"
#include "protocol/session.h"

struct rl_pending_acquire;
struct rl_attempt;
struct rl_engine;
struct rl_handle;

TAILQ_HEAD(rl_waiters, rl_pending_acquire);

struct rl_local_queue {
    struct rl_waiters waiters; /* never empty */
    uint64_t hash;             /* of the key */
    LIST_ENTRY(rl_local_queue) bucket;
    uint64_t number;                /* the name of its head in the nodes' queues; never 0 */
    bool is_private;                /* no other waiter may join */
    uint16_t nodes_without_waiters; /* where our last release found the nodes' queue empty */
    uint32_t waiter_count;
    int64_t report_at_ns; /* when the places of all may be reported again */
};

LIST_HEAD(rl_bucket, rl_local_queue);

#define RL_BUCKETS_MAX 65536u

/* By key; by number too, whose last digits are those of the key's hash that
 * choose the bucket. */
struct rl_local_queues {
    struct rl_bucket *bucket;
    uint32_t bucket_count;              /* 0 or a power of two */
    uint32_t count;                     /* queues in them */
    uint64_t generation;                /* numbers drawn so far */
    char hash_key[RL_SIPHASH_KEY_SIZE]; /* random */
    struct rl_pool pool;
};

/*
 * A client that releases a lock while others wait, and requests it again at once, could
 * overtake them every time: its request may arrive before any waiter has learnt that the lock
 * is free. So it yields: for a while after such a release it begins with a place in the nodes'
 * queues.
 */
#define RL_YIELDS 64
struct rl_yield {
    uint64_t hash; /* of the key */
    int64_t until_ns;
};

/*
 * Puts the handle at the end of the local queue for its key, making one if there is none.
 * is_private: always one of its own. NULL: out of memory.
 */
struct rl_local_queue *rl_local_queue_join(struct rl_local_queues *queues,
                                           struct rl_handle *handle, bool is_private);
/* Removes a waiting handle. If it was the head, the next one is started from its timer. */
void rl_local_queue_leave(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns);
struct rl_handle *rl_local_queue_head(const struct rl_local_queue *queue);

/* A place was given up: late wake-ups for it find no waiter. */
void rl_local_queue_renumber(struct rl_local_queues *queues, struct rl_local_queue *queue);
/* The local queue of that number, or NULL. */
struct rl_local_queue *rl_local_queue_by_number(const struct rl_local_queues *queues,
                                                uint64_t number);
void rl_local_queues_free(struct rl_local_queues *queues);

/* Its place among all waiters, of this client and of the others: 1 for the head, 0 unknown. */
uint32_t rl_handle_position(const struct rl_handle *handle);
/* A step of a waiter may have taught places: news for the owners that want
 * to know theirs. */
void rl_local_queue_report_places(struct rl_engine *engine, struct rl_handle *handle,
                                  int64_t now_ns);

/* The lock may be free on those nodes: the head of that queue is woken. */
void rl_local_queue_wake(struct rl_engine *engine, struct rl_local_queue *queue, uint16_t nodes,
                         uint16_t slot, int64_t now_ns);
/* Wake-ups of this node may have been missed: heads that try it try again, sleepers too. */
void rl_local_queues_wake(struct rl_engine *engine, uint8_t node, bool sleepers,
                          int64_t now_ns);

/* Our own release is on its way: the attempt of the next waiter travels right behind it. */
void rl_local_queue_hand_over(struct rl_engine *engine, const struct rl_handle *released,
                              int64_t now_ns);
/* May the attempt that begins now be a plain one, because our own release is in front of it? */
bool rl_may_follow_release(const struct rl_engine *engine, const struct rl_handle *handle,
                           int64_t now_ns);
/* What a release that was handed over found: are there waiters on that node? */
void rl_local_queue_note_release(struct rl_engine *engine, uint8_t node,
                                 const struct rl_pending *pending,
                                 const struct rl_answer *answer);

/* Other clients wait for what was given back: this one yields to them for a while. */
void rl_yield_begin(struct rl_engine *engine, const struct rl_attempt *attempt, int64_t now_ns);
bool rl_is_yielding(const struct rl_engine *engine, const struct rl_handle *handle,
                    int64_t now_ns);

#endif
