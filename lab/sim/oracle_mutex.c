/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One holder while the validity lasts, or as many as the kind allows: readers beside readers,
 * holds of one owner, different slots of one semaphore. A worker believes in its lock until the
 * deadline that the library gave it, by its own clock, whether its process runs or not; also
 * after a loss that was reported earlier, because what was promised is kept to the deadline
 * (A10). At no true instant may two believe.
 */
#include <string.h>

#include "base/time.h"
#include "lab/fake/bytes.h"
#include "lab/sim/world.h"

/* A step is noticed with the next sample, a second later, and a trial among the nodes. */
#define NOTICED_WITHIN_NS (1500 * RL_NS_PER_MS)

static bool believes(const struct sim_world *world, const struct sim_worker *worker)
{
    const struct sim_client *client = worker->client;

    return worker->believed_ns && sim_client_now_ns(world, client) < worker->believed_ns;
}

static struct sim_hold hold_of(const struct sim_worker *worker)
{
    struct sim_hold hold = {
        .names = worker->names,
        .kind = worker->kind,
        .slots = worker->slots,
        .slot = worker->handle.lock.slot,
    };

    memcpy(hold.owner, worker->owner, sizeof hold.owner);
    return hold;
}

bool sim_is_compatible(const struct sim_hold *a, const struct sim_hold *b)
{
    if (!(a->names & b->names))
        return true;
    if (a->kind != b->kind)
        return false;
    switch ((enum redlock_kind)a->kind) {
    case REDLOCK_SHARED:
        return true;
    case REDLOCK_REENTRANT:
        return strcmp(a->owner, b->owner) == 0;
    case REDLOCK_SEMAPHORE:
        return a->slots == b->slots && a->slot != b->slot;
    case REDLOCK_MUTEX:
        return false;
    }
    return false;
}

static void check_against_the_dead(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_oracle *oracle = &world->oracle;
    struct sim_hold hold = hold_of(worker);

    for (size_t i = 0; i < oracle->ghost_count; i++) {
        if (oracle->ghost[i].until_ns <= world->now_ns)
            oracle->ghost[i--] = oracle->ghost[--oracle->ghost_count];
        else if (!sim_is_compatible(&oracle->ghost[i].hold, &hold))
            sim_fail(world, "one holder", "c%u.%u holds %s before the end of a dead one's hold",
                     worker->client->index + 1, worker->index + 1, worker->label);
    }
}

static void check_one_holder(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_hold hold = hold_of(worker);

    if (!sim_promises_one_holder(&world->options) || !believes(world, worker) ||
        world->now_ns < world->oracle.pardon_until_ns)
        return;
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        struct sim_client *client = &world->client[i];

        for (uint8_t j = 0; client->alive && j < world->options.worker_count; j++) {
            struct sim_worker *other = &client->worker[j];
            struct sim_hold theirs;

            if (other == worker || !other->has_lock || !believes(world, other))
                continue;
            theirs = hold_of(other);
            if (!sim_is_compatible(&theirs, &hold))
                sim_fail(world, "one holder", "c%u.%u holds %s (%u) and c%u.%u holds %s (%u)",
                         worker->client->index + 1, worker->index + 1, worker->label, hold.slot,
                         i + 1, j + 1, other->label, theirs.slot);
        }
    }
    check_against_the_dead(world, worker);
}

void sim_mutex_observe(struct sim_world *world, struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;

    /* It is the holder of the lease that believes (oracle_lease.c). */
    if (worker->lease)
        return;
    if (lock->state == RL_HELD && lock->deadline_ns != worker->believed_ns) {
        if (worker->believed_ns &&
            sim_client_now_ns(world, worker->client) > worker->believed_ns)
            sim_fail(world, "loss in time", "c%u.%u %s: over, and held again",
                     worker->client->index + 1, worker->index + 1, worker->label);
        if (worker->believed_ns)
            sim_proof_extended(world, worker);
        worker->believed_ns = lock->deadline_ns;
    }
    worker->extending_ns = lock->state == RL_HELD && lock->extending ? lock->round_start_ns : 0;
    check_one_holder(world, worker);
}

void sim_mutex_lost(struct sim_world *world, struct sim_worker *worker)
{
    /* A clock that was set: what the nodes have may end earlier than was promised (G6). */
    if (world->options.regime == SIM_REGIME_STEPS)
        worker->believed_ns = 0;
}

void sim_mutex_death(struct sim_world *world, struct sim_client *client)
{
    struct sim_oracle *oracle = &world->oracle;

    for (uint8_t i = 0; i < world->options.worker_count; i++) {
        struct sim_worker *worker = &client->worker[i];

        if (!worker->has_lock || !believes(world, worker))
            continue;
        if (oracle->ghost_count == oracle->ghost_capacity) {
            oracle->ghost_capacity = oracle->ghost_capacity ? 2 * oracle->ghost_capacity : 16;
            oracle->ghost =
                fake_realloc(oracle->ghost, oracle->ghost_capacity * sizeof *oracle->ghost);
        }
        oracle->ghost[oracle->ghost_count++] = (struct sim_ghost){
            .hold = hold_of(worker),
            .until_ns = sim_client_when_ns(client, worker->believed_ns),
        };
    }
}

static void pardon_ends(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)subject;
    (void)stamp;
    if (world->now_ns < world->oracle.pardon_until_ns)
        return;
    for (uint8_t i = 0; i < world->options.client_count; i++)
        for (uint8_t j = 0; world->client[i].alive && j < world->options.worker_count; j++)
            if (world->client[i].worker[j].has_lock)
                check_one_holder(world, &world->client[i].worker[j]);
}

void sim_oracle_stepped(struct sim_world *world)
{
    world->oracle.pardon_until_ns = world->now_ns + NOTICED_WITHIN_NS;
    sim_events_add(&world->events, world->oracle.pardon_until_ns, pardon_ends, NULL, 0);
}
