/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing tokens grow: an acquisition whose winning attempt began after another acquisition of
 * the name had completed has the larger token, and no two have the same.
 */
#include "sim/bytes.h"
#include "sim/world.h"

static void note(struct sim_world *world, uint8_t lock, int64_t token)
{
    struct sim_oracle *oracle = &world->oracle;
    size_t count = oracle->acquisition_count[lock]++;

    if (count == oracle->acquisition_capacity[lock]) {
        oracle->acquisition_capacity[lock] = count ? 2 * count : 64;
        oracle->acquisition[lock] =
            sim_realloc(oracle->acquisition[lock],
                        oracle->acquisition_capacity[lock] * sizeof **oracle->acquisition);
    }
    oracle->acquisition[lock][count] = (struct sim_acquisition){world->now_ns, token};
}

void sim_fence_granted(struct sim_world *world, struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;
    struct sim_oracle *oracle = &world->oracle;
    int64_t began_ns = sim_client_when_ns(worker->client, lock->round_start_ns);

    sim_trace(world, "c%u.%u %s: token %lld", worker->client->index + 1, worker->index + 1,
              worker->key, (long long)lock->token);
    if (!sim_promises_token_order(&world->options))
        return;
    if (lock->token <= 0)
        sim_fail(world, "tokens", "c%u.%u got no token", worker->client->index + 1,
                 worker->index + 1);
    for (size_t i = 0; i < oracle->acquisition_count[worker->lock]; i++) {
        const struct sim_acquisition *earlier = &oracle->acquisition[worker->lock][i];

        if (earlier->token == lock->token ||
            (earlier->completed_ns < began_ns && earlier->token > lock->token))
            sim_fail(world, "tokens", "c%u.%u %s: token %lld after %lld was given",
                     worker->client->index + 1, worker->index + 1, worker->key,
                     (long long)lock->token, (long long)earlier->token);
    }
    note(world, worker->lock, lock->token);
}
