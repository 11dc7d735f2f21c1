/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/oracle.h"

#include <stdlib.h>

#include "lab/sim/world.h"

void sim_oracle_observe(struct sim_world *world, struct sim_client *client)
{
    sim_guard_observe(world, client);
    if (world->options.elected_count)
        sim_elected_hear(world, client);
    if ((world->options.break_permille || world->options.lease_count) &&
        world->options.elected_count)
        sim_elected_observe(world, client);
    if (world->options.lease_count)
        sim_lease_observe(world);
    for (uint8_t i = 0; i < world->options.worker_count; i++) {
        struct sim_worker *worker = &client->worker[i];

        if (!worker->has_lock)
            continue;
        if (world->options.elected_count)
            sim_elected_proofs(world, worker);
        sim_mutex_observe(world, worker);
        sim_proof_lost(world, worker);
        sim_calls_watch(world, worker);
        /* A failover loses queues: their order is no promise there. */
        if (!world->options.elected_count)
            sim_queue_observe(world, worker);
    }
}

void sim_oracle_granted(struct sim_world *world, struct sim_worker *worker)
{
    sim_calls_granted(world, worker);
    if (worker->fenced)
        sim_fence_granted(world, worker);
    if (!world->options.elected_count)
        sim_queue_granted(world, worker);
    for (int i = 0; i < SIM_LOCKS_MAX; i++)
        if (worker->names & (1u << i))
            world->oracle.granted_ns[i] = world->now_ns;
}

void sim_oracle_lost(struct sim_world *world, struct sim_worker *worker)
{
    sim_calls_lost(world, worker);
    sim_mutex_lost(world, worker);
    if (world->options.is_gentle && !world->calm)
        sim_elected_lost(world, worker);
}

void sim_oracle_executed(struct sim_world *world, struct sim_conn *conn,
                         const struct fake_words *words, struct rl_slice reply)
{
    sim_errors_executed(world, conn, words, reply);
    sim_proof_executed(world, conn, words, reply);
}

void sim_oracle_calm(struct sim_world *world)
{
    for (uint8_t i = 0; i < world->options.client_count; i++)
        for (uint8_t j = 0; !world->options.elected_count && j < world->options.worker_count;
             j++)
            sim_queue_calm(world, &world->client[i].worker[j]);
}

void sim_oracle_store(struct sim_world *world, struct sim_node *node)
{
    sim_keys_check(world, node);
    sim_ended_check(world);
}

void sim_oracle_free(struct sim_oracle *oracle)
{
    free(oracle->ghost);
    for (int i = 0; i < SIM_LOCKS_MAX; i++)
        free(oracle->acquisition[i]);
}
