/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No false alarm: a clock that was not set, and that runs within the allowance, is never
 * blamed, however late its answers come and however long a process was stopped.
 */
#include "lab/sim/world.h"

void sim_guard_observe(struct sim_world *world, struct sim_client *client)
{
    if (!client->alive || world->options.every_ns[SIM_FAULT_NODE_STEP])
        return;
    for (uint8_t i = 0; i < world->options.node_count; i++)
        if (client->engine->node[i].session.guard.clock_blamed_ns != 0)
            sim_fail(world, "no false alarm", "c%u blames the clock of n%u, which was not set",
                     client->index + 1, i + 1);
}
