/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing tokens grow: an acquisition whose winning attempt began after another acquisition of
 * the name had completed has the larger token, and no two have the same.
 */
#include <string.h>

#include "lab/fake/bytes.h"
#include "lab/sim/world.h"

static void note(struct sim_world *world, uint8_t lock, const struct sim_worker *worker)
{
    struct sim_oracle *oracle = &world->oracle;
    size_t count = oracle->acquisition_count[lock]++;

    if (count == oracle->acquisition_capacity[lock]) {
        oracle->acquisition_capacity[lock] = count ? 2 * count : 64;
        oracle->acquisition[lock] =
            fake_realloc(oracle->acquisition[lock],
                         oracle->acquisition_capacity[lock] * sizeof **oracle->acquisition);
    }
    oracle->acquisition[lock][count] = (struct sim_acquisition){
        .completed_ns = world->now_ns, .token = worker->handle.lock.token};
    memcpy(oracle->acquisition[lock][count].owner, worker->owner, sizeof worker->owner);
}

static void check(struct sim_world *world, struct sim_worker *worker, uint8_t lock,
                  int64_t began_ns)
{
    struct sim_oracle *oracle = &world->oracle;
    int64_t token = worker->handle.lock.token;

    for (size_t i = 0; i < oracle->acquisition_count[lock]; i++) {
        const struct sim_acquisition *earlier = &oracle->acquisition[lock][i];
        /* Holds of one owner, one inside the other, have one token. */
        bool may_be_equal = worker->owner[0] && strcmp(worker->owner, earlier->owner) == 0;

        if ((earlier->token == token && !may_be_equal) ||
            (earlier->completed_ns < began_ns && earlier->token > token))
            sim_fail(world, "tokens", "c%u.%u %s: token %lld after %lld was given",
                     worker->client->index + 1, worker->index + 1, worker->label,
                     (long long)token, (long long)earlier->token);
    }
    note(world, lock, worker);
}

void sim_fence_granted(struct sim_world *world, struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;
    /* Not the round's start: the first renewal may be due in the very turn of the grant. */
    int64_t began_ns = sim_client_when_ns(worker->client, lock->acquired_ns);

    sim_trace(world, "c%u.%u %s: token %lld", worker->client->index + 1, worker->index + 1,
              worker->label, (long long)lock->token);
    if (!sim_promises_token_order(&world->options))
        return;
    if (lock->token <= 0)
        sim_fail(world, "tokens", "c%u.%u got no token", worker->client->index + 1,
                 worker->index + 1);
    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++)
        if (worker->names & (1u << i))
            check(world, worker, i, began_ns);
}
