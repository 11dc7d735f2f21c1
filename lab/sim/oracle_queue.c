/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting.
 *
 * Fairness: a fair request that begins after a waiter has been queued on a majority of the
 * nodes is not served before it, as long as the waiter stays queued there without a gap: its
 * heartbeats come in time (every pause longer than RL_WAITER_TTL_MS loses the place), no node
 * forgets its queue, no key that a grant made of the place expires before the rollback puts it
 * back, and it neither gives up nor drops its place for want of a quorum. Readers do not wait
 * for readers, and an owner that already holds a re-entrant lock does not wait at all.
 *
 * No place without a quorum: a waiter that backs off because too few nodes answered has left
 * the queue.
 *
 * No lost wake-up: in the calm, no waiter waits for a free lock for longer than it takes a dead
 * waiter ahead of it to expire, and its own next heartbeat to come.
 */
#include <string.h>

#include "base/time.h"
#include "core/kind.h"
#include "lab/sim/world.h"

#define UNSERVED_MAX_NS ((RL_WAITER_TTL_MS + RL_WAITER_TTL_MS / 3 + 1500) * RL_NS_PER_MS)

static bool is_waiting(const struct sim_worker *worker)
{
    return worker->has_lock && worker->operation == SIM_ACQUIRE &&
           worker->wait_deadline_ns != 0;
}

/* Held already, though the application does not know yet: no place any more. */
static bool has_ticket(const struct sim_worker *worker)
{
    const struct rl_acquisition *acquisition = worker->handle.lock.acquisition;

    return acquisition && acquisition->ticket;
}

static struct rl_slice key_of(char *out, size_t size, const char *head, uint8_t lock)
{
    int length = snprintf(out, size, "%s:job%u", head, lock + 1u);

    return (struct rl_slice){out, (size_t)length};
}

/* Does the key of a name carry this hold? */
static bool carries(struct sim_node *node, uint8_t lock, const char *value)
{
    char name[64];
    const struct fake_key *key =
        fake_server_find(&node->server, key_of(name, sizeof name, "redlock", lock));

    for (uint32_t i = 0; key && i < key->item_count; i++) {
        int64_t ends_ms;
        const char *held = sim_read_hold(key, &key->item[i], &ends_ms);

        if (held && strcmp(held, value) == 0)
            return true;
    }
    return false;
}

/* The place is in the keys of a round that may still fail. */
static bool is_in_keys(struct sim_node *node, const struct sim_worker *waiter)
{
    const struct sim_footprint *print = &waiter->footprint[node->index];

    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++)
        if ((waiter->names & (1u << i)) && !carries(node, i, print->value))
            return false;
    return true;
}

/* In the queues of all its names, on this node? */
static bool is_queued(struct sim_node *node, const struct sim_worker *waiter)
{
    char name[64];
    char member[64];

    snprintf(member, sizeof member, "%c%s.%llu", rl_kinds[waiter->kind].waiter,
             waiter->client->engine->id,
             (unsigned long long)rl_pending_acquire_of(&waiter->handle)->waiter);
    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++) {
        const struct fake_key *queue;

        if (!(waiter->names & (1u << i)))
            continue;
        queue = fake_server_find(&node->server, key_of(name, sizeof name, RL_QUEUE_HEAD, i));
        if (!queue || !fake_key_find(queue, rl_slice_of(member)))
            return false;
    }
    return true;
}

/* On how many nodes has it been queued since then, without a gap? */
static uint8_t queued_since(struct sim_world *world, const struct sim_worker *waiter,
                            int64_t since_ns)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < world->options.node_count; i++) {
        const struct sim_footprint *print = &waiter->footprint[i];
        struct sim_node *node = &world->node[i];

        if (print->waiter != rl_pending_acquire_of(&waiter->handle)->waiter ||
            print->queued_ns >= since_ns || print->queued_ns <= node->forgot_ns)
            continue;
        if (print->in_key)
            count += is_in_keys(node, waiter);
        else
            count += print->alive_ms > sim_node_now_ms(world, node) && is_queued(node, waiter);
    }
    return count;
}

static bool holds_already(const struct sim_world *world, const struct sim_worker *worker)
{
    for (uint8_t i = 0; i < world->options.node_count; i++)
        if (worker->footprint[i].beside)
            return true;
    return false;
}

void sim_queue_granted(struct sim_world *world, const struct sim_worker *served)
{
    if (!served->fair || !served->wait_deadline_ns ||
        !sim_promises_token_order(&world->options) || holds_already(world, served))
        return;
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        for (uint8_t j = 0; world->client[i].alive && j < world->options.worker_count; j++) {
            const struct sim_worker *waiter = &world->client[i].worker[j];

            if (waiter == served || !is_waiting(waiter) || !has_ticket(waiter) ||
                !(waiter->names & served->names) ||
                (rl_kinds[waiter->kind].waiter == RL_WAITER_READS &&
                 rl_kinds[served->kind].waiter == RL_WAITER_READS))
                continue;
            if (queued_since(world, waiter, served->begun_true_ns) >
                world->options.node_count / 2)
                sim_fail(
                    world, "fairness", "c%u.%u %s is served before c%u.%u, which was first",
                    served->client->index + 1, served->index + 1, served->label, i + 1, j + 1);
        }
    }
}

void sim_queue_observe(struct sim_world *world, const struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;

    if (lock->state == RL_BACKOFF && lock->acquisition->ticket)
        sim_fail(world, "no place without a quorum",
                 "c%u.%u %s waits for nodes, and has a place", worker->client->index + 1,
                 worker->index + 1, worker->label);
}

/* The names of this worker, of the waiters ahead of it, of those ahead of them, and so on. */
static uint8_t names_in_the_way(const struct sim_world *world, const struct sim_worker *worker)
{
    uint8_t names = worker->names;
    uint8_t before;

    do {
        before = names;
        for (uint8_t i = 0; i < world->options.client_count; i++) {
            for (uint8_t j = 0; j < world->options.worker_count; j++) {
                const struct sim_worker *other = &world->client[i].worker[j];

                if (is_waiting(other) && (other->names & names))
                    names |= other->names;
            }
        }
    } while (names != before);
    return names;
}

static bool is_free(struct sim_world *world, const struct sim_worker *worker)
{
    uint8_t names = names_in_the_way(world, worker);
    uint8_t count = 0;
    char name[64];

    for (uint8_t i = 0; i < world->options.node_count; i++) {
        struct sim_node *node = &world->node[i];
        const struct rl_session *session = &worker->client->engine->node[i].session;
        bool free = session->state == RL_SESSION_UP && session->guard.state == RL_GUARD_VOTING;

        node->server.now_us = sim_node_now_ms(world, node) * 1000;
        for (uint8_t k = 0; k < SIM_LOCKS_MAX; k++)
            if ((names & (1u << k)) &&
                fake_server_find(&node->server, key_of(name, sizeof name, "redlock", k)))
                free = false;
        count += free;
    }
    return count > world->options.node_count / 2;
}

static bool was_granted_since(const struct sim_world *world, const struct sim_worker *worker,
                              int64_t since_ns)
{
    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++)
        if ((worker->names & (1u << i)) && world->oracle.granted_ns[i] >= since_ns)
            return true;
    return false;
}

void sim_queue_calm(struct sim_world *world, struct sim_worker *worker)
{
    if (!worker->client->alive || !is_waiting(worker) || !is_free(world, worker)) {
        worker->unserved_ns = 0;
        return;
    }
    if (!worker->unserved_ns || was_granted_since(world, worker, worker->unserved_ns))
        worker->unserved_ns = world->now_ns;
    if (world->now_ns - worker->unserved_ns > UNSERVED_MAX_NS)
        sim_fail(world, "no lost wake-up", "c%u.%u waits for %s, which is free",
                 worker->client->index + 1, worker->index + 1, worker->label);
}
