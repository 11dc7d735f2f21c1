/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/local_queue.h"

#include <string.h>

#include "core/kind.h"
#include "core/rules.h"
#include "engine/engine.h"
#include "engine/handle.h"

#define BUCKETS_FIRST 16
#define QUEUES_KEPT 1024
#define YIELD_NS RL_NS_PER_S
/* Thousands may wait for one name, and every holder that ends moves all of them. */
#define REPORT_ALL_NS RL_NS_PER_S

struct rl_handle *rl_local_queue_head(const struct rl_local_queue *queue)
{
    return TAILQ_FIRST(&queue->waiters)->handle;
}

/* ---- by key ---- */

/* Names may be chosen by clients of a service: not their buckets. */
static uint64_t hash_of(const struct rl_local_queues *queues, struct rl_slice key)
{
    return rl_siphash(queues->hash_key, key);
}

static struct rl_bucket *bucket_of(const struct rl_local_queues *queues, uint64_t hash)
{
    return &queues->bucket[hash & (queues->bucket_count - 1)];
}

/* There is at least one. */
static struct rl_local_queue *find(const struct rl_local_queues *queues, uint64_t hash,
                                   struct rl_slice key)
{
    struct rl_local_queue *queue;

    LIST_FOREACH (queue, bucket_of(queues, hash), bucket) {
        struct rl_slice other = rl_attempt_key(rl_local_queue_head(queue)->attempt);

        if (queue->hash == hash && !queue->is_private && other.size == key.size &&
            memcmp(other.data, key.data, key.size) == 0)
            return queue;
    }
    return NULL;
}

static struct rl_local_queue *find_for(const struct rl_engine *engine,
                                       const struct rl_attempt *attempt)
{
    struct rl_slice key = rl_attempt_key(attempt);

    return engine->local_queues.count
               ? find(&engine->local_queues, hash_of(&engine->local_queues, key), key)
               : NULL;
}

/* Twice as many buckets, up to a bound. */
static bool grow(struct rl_local_queues *queues)
{
    struct rl_local_queues grown = *queues;

    grown.bucket_count = queues->bucket_count ? 2 * queues->bucket_count : BUCKETS_FIRST;
    if (grown.bucket_count > RL_BUCKETS_MAX)
        return true;
    grown.bucket = malloc(grown.bucket_count * sizeof *grown.bucket);
    if (!grown.bucket)
        return false;
    for (uint32_t i = 0; i < grown.bucket_count; i++)
        LIST_INIT(&grown.bucket[i]);
    for (uint32_t i = 0; i < queues->bucket_count; i++) {
        struct rl_local_queue *queue;

        while ((queue = LIST_FIRST(&queues->bucket[i])) != NULL) {
            LIST_REMOVE(queue, bucket);
            LIST_INSERT_HEAD(bucket_of(&grown, queue->hash), queue, bucket);
        }
    }
    free(queues->bucket);
    *queues = grown;
    return true;
}

/* ---- coming and going ---- */

struct rl_local_queue *rl_local_queue_join(struct rl_local_queues *queues,
                                           struct rl_handle *handle, bool is_private)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    struct rl_slice key = rl_attempt_key(handle->attempt);
    uint64_t hash = hash_of(queues, key);
    struct rl_local_queue *queue = NULL;

    if (queues->count > 0 && !is_private && RL_RULE(ONE_PLACE))
        queue = find(queues, hash, key);
    if (!queue) {
        if (queues->count == queues->bucket_count && !grow(queues))
            return NULL;
        queue = rl_pool_take(&queues->pool);
        if (!queue)
            queue = malloc(sizeof *queue);
        if (!queue)
            return NULL;
        *queue = (struct rl_local_queue){.hash = hash, .is_private = is_private};
        TAILQ_INIT(&queue->waiters);
        rl_local_queue_renumber(queues, queue);
        LIST_INSERT_HEAD(bucket_of(queues, hash), queue, bucket);
        queues->count++;
    }
    acquire->queue = queue;
    TAILQ_INSERT_TAIL(&queue->waiters, acquire, in_queue);
    queue->waiter_count++;
    return queue;
}

void rl_local_queue_leave(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    struct rl_local_queues *queues = &engine->local_queues;
    struct rl_local_queue *queue = acquire->queue;
    struct rl_pending_acquire *head;
    bool was_head = TAILQ_FIRST(&queue->waiters) == acquire;

    /* Only the head knows what is in the way: the others take it along, for their reports. */
    if (!was_head && !acquire->current_holder.nodes)
        acquire->current_holder = TAILQ_FIRST(&queue->waiters)->current_holder;
    TAILQ_REMOVE(&queue->waiters, acquire, in_queue);
    queue->waiter_count--;
    acquire->queue = NULL;
    head = TAILQ_FIRST(&queue->waiters);
    if (!head) {
        LIST_REMOVE(queue, bucket);
        queues->count--;
        rl_pool_give(&queues->pool, queue, QUEUES_KEPT);
        return;
    }
    if (!was_head)
        return;
    rl_local_queue_renumber(queues, queue);
    head->waiter = queue->number;
    head->became_head = true;
    head->client_holds =
        handle->lock.state == RL_HELD && rl_kinds[handle->lock.terms.kind].single;
    rl_timers_set(&engine->timers, &head->handle->timer, now_ns);
}

void rl_local_queue_renumber(struct rl_local_queues *queues, struct rl_local_queue *queue)
{
    queue->number = ++queues->generation * RL_BUCKETS_MAX | queue->hash % RL_BUCKETS_MAX;
}

struct rl_local_queue *rl_local_queue_by_number(const struct rl_local_queues *queues,
                                                uint64_t number)
{
    struct rl_local_queue *queue = NULL;

    if (queues->count > 0)
        LIST_FOREACH (queue, bucket_of(queues, number), bucket)
            if (queue->number == number)
                break;
    return queue;
}

void rl_local_queues_free(struct rl_local_queues *queues)
{
    for (uint32_t i = 0; i < queues->bucket_count; i++) {
        struct rl_local_queue *queue;

        while ((queue = LIST_FIRST(&queues->bucket[i])) != NULL) {
            LIST_REMOVE(queue, bucket);
            free(queue);
        }
    }
    rl_pool_close(&queues->pool);
    free(queues->bucket);
    *queues = (struct rl_local_queues){0};
}

uint32_t rl_handle_position(const struct rl_handle *handle)
{
    const struct rl_local_queue *queue = rl_local_queue_of(handle);
    const struct rl_pending_acquire *at;
    uint32_t ahead = 0;
    uint32_t place;

    if (!queue)
        return 0;
    TAILQ_FOREACH (at, &queue->waiters, in_queue) {
        if (at->handle == handle)
            break;
        ahead++;
    }
    place = rl_local_queue_head(queue)->lock.acquisition->place;
    return ahead > 0 && place == 0 ? ahead + 1 : ahead + place;
}

static void report_place(struct rl_engine *engine, struct rl_pending_acquire *acquire,
                         uint32_t place)
{
    if (!acquire->wants_place || acquire->reported_place == place)
        return;
    acquire->reported_place = place;
    acquire->handle->placed = true;
    rl_engine_add_ready(engine, acquire->handle);
}

/*
 * Only the head learns its place from the nodes; it is sure when a round is over (QUEUED). The
 * places of the others follow from it.
 */
void rl_local_queue_report_places(struct rl_engine *engine, struct rl_handle *handle,
                                  int64_t now_ns)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    struct rl_local_queue *queue = acquire->queue;
    struct rl_pending_acquire *at = TAILQ_FIRST(&queue->waiters);
    uint32_t place = at->acquisition.place;

    if (!place)
        return;
    if (acquire != at) { /* it has just come */
        if (!acquire->reported_place && !TAILQ_NEXT(acquire, in_queue))
            report_place(engine, acquire, place + queue->waiter_count - 1);
        return;
    }
    if (handle->lock.state != RL_QUEUED)
        return;
    report_place(engine, at, place);
    if (now_ns < queue->report_at_ns)
        return;
    queue->report_at_ns = now_ns + REPORT_ALL_NS;
    while ((at = TAILQ_NEXT(at, in_queue)) != NULL)
        report_place(engine, at, ++place);
}

/* ---- waking ---- */

void rl_local_queue_wake(struct rl_engine *engine, struct rl_local_queue *queue, uint16_t nodes,
                         uint16_t slot, int64_t now_ns)
{
    rl_handle_step(engine, rl_local_queue_head(queue),
                   &(struct rl_event){
                       .type = RL_EVENT_WAKE, .now_ns = now_ns, .nodes = nodes, .slot = slot});
}

void rl_local_queues_wake(struct rl_engine *engine, uint8_t node, bool sleepers, int64_t now_ns)
{
    for (uint32_t i = 0; i < engine->local_queues.bucket_count; i++) {
        struct rl_local_queue *queue = LIST_FIRST(&engine->local_queues.bucket[i]);

        while (queue) {
            struct rl_local_queue *next = LIST_NEXT(queue, bucket); /* its step may end it */

            if (sleepers || rl_local_queue_head(queue)->lock.state != RL_QUEUED)
                rl_local_queue_wake(engine, queue, (uint16_t)(1u << node), 0, now_ns);
            queue = next;
        }
    }
}

/* ---- handover ---- */

/* Only to a waiter at the head of the nodes' queue, or that has not requested a place yet. */
void rl_local_queue_hand_over(struct rl_engine *engine, const struct rl_handle *released,
                              int64_t now_ns)
{
    struct rl_local_queue *queue = find_for(engine, released->attempt);
    struct rl_event event = {
        .type = RL_EVENT_WAKE,
        .now_ns = now_ns,
        .nodes = engine->policy.all_nodes,
        .slot = released->lock.slot,
        .behind_release = rl_kinds[released->lock.terms.kind].single,
    };
    struct rl_handle *next = queue ? rl_local_queue_head(queue) : NULL;

    if (!next)
        return;
    released->attempt->handed_over = true;
    if (next->lock.state == RL_PARKED && event.behind_release) {
        rl_pending_acquire_of(next)->became_head = false;
        rl_pending_acquire_of(next)->behind_release = true;
    } else if (next->lock.state != RL_QUEUED || next->lock.acquisition->place != 1) {
        return;
    }
    rl_handle_step(engine, next, &event);
    if (next->lock.acquisition)
        rl_pending_acquire_of(next)->behind_release = false;
}

/*
 * Behind our own release a plain SET suffices, and is much cheaper for the nodes: the release's
 * reply shows whether others wait. If so, its grant is not counted and is rolled back. Where
 * others are known to wait, it would only get in their way.
 */
bool rl_may_follow_release(const struct rl_engine *engine, const struct rl_handle *handle,
                           int64_t now_ns)
{
    const struct rl_attempt *attempt = handle->attempt;

    return rl_kinds[attempt->kind].single && attempt->name_count == 1 &&
           !rl_is_yielding(engine, handle, now_ns);
}

void rl_local_queue_note_release(struct rl_engine *engine, uint8_t node,
                                 const struct rl_pending *pending,
                                 const struct rl_answer *answer)
{
    struct rl_local_queue *queue = find_for(engine, pending->subject);
    uint16_t bit = (uint16_t)(1u << node);
    bool is_empty;

    if (!queue || (pending->op != RL_OP_RELEASE && pending->op != RL_OP_WAITERS))
        return;
    /* A native delete shows no waiters: they are requested behind it. */
    if (pending->op == RL_OP_WAITERS)
        is_empty = answer->vote == REDLOCK_VOTE_MISSING;
    else
        is_empty =
            pending->by_script && answer->vote == REDLOCK_VOTE_GRANTED && !answer->contended;
    if (is_empty)
        queue->nodes_without_waiters |= bit;
    else
        queue->nodes_without_waiters &= (uint16_t)~bit;
}

/* ---- yielding ---- */

void rl_yield_begin(struct rl_engine *engine, const struct rl_attempt *attempt, int64_t now_ns)
{
    uint64_t hash = hash_of(&engine->local_queues, rl_attempt_key(attempt));

    if (!RL_RULE(YIELDING))
        return;
    engine->yield[hash % RL_YIELDS] = (struct rl_yield){hash, now_ns + YIELD_NS};
    engine->yields_until_ns = now_ns + YIELD_NS;
}

bool rl_is_yielding(const struct rl_engine *engine, const struct rl_handle *handle,
                    int64_t now_ns)
{
    uint64_t hash = hash_of(&engine->local_queues, rl_attempt_key(handle->attempt));
    const struct rl_yield *yield = &engine->yield[hash % RL_YIELDS];

    return yield->hash == hash && now_ns < yield->until_ns;
}
