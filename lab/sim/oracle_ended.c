/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was ended stays ended: once a release or an eviction was answered with success, no
 * majority of the nodes has that value again (A8). Nodes that have lost their memory, or
 * brought an old one back, within max_ttl before that or since do not count. Nor do nodes that
 * had no such value when its end began: an acquire that is still on its way there may set its
 * key behind the end.
 */
#include <string.h>

#include "lab/sim/world.h"

void sim_ended_begin(struct sim_world *world, struct sim_worker *worker, const char *value)
{
    snprintf(worker->ends, sizeof worker->ends, "%s", value);
    worker->ends_on = 0;
    if (world->options.elected_count)
        worker->tenure = rl_elected_tenure(&worker->client->engine->node[0],
                                           sim_client_now_ns(world, worker->client));
    for (uint8_t i = 0; i < world->options.node_count; i++)
        if (sim_has_hold(world, &world->node[i], value, NULL))
            worker->ends_on |= (uint16_t)(1u << i);
}

void sim_ended_note(struct sim_world *world, const struct sim_worker *worker)
{
    struct sim_oracle *oracle = &world->oracle;
    struct sim_end *end = &oracle->end[oracle->end_count++ % SIM_ENDS_MAX];

    end->since_ns = world->now_ns;
    end->nodes = worker->ends_on;
    memcpy(end->value, worker->ends, sizeof end->value);
}

static void check_end(struct sim_world *world, const struct sim_end *end)
{
    int64_t max_ttl_ns = world->options.max_ttl_ms * RL_NS_PER_MS;
    uint8_t count = 0;

    for (uint8_t i = 0; i < world->options.node_count; i++) {
        struct sim_node *node = &world->node[i];

        if (!(end->nodes & (1u << i)))
            continue;
        if (!node->forgot_ns || node->forgot_ns + max_ttl_ns < end->since_ns)
            count += sim_has_hold(world, node, end->value, NULL);
    }
    if (count > world->options.node_count / 2)
        sim_fail(world, "what was ended stays ended", "%s is on %u of %u nodes again",
                 end->value, count, world->options.node_count);
}

void sim_ended_check(struct sim_world *world)
{
    const struct sim_oracle *oracle = &world->oracle;

    /* Of elected votes it does so once it is final: oracle_elected.c. */
    for (size_t i = 0;
         !world->options.elected_count && i < oracle->end_count && i < SIM_ENDS_MAX; i++)
        check_end(world, &oracle->end[i]);
}
