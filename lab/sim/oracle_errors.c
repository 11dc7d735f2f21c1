/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts run to their end: none fails with an error of the language or calls a command
 * wrongly. That a node refuses (NOSCRIPT, LOADING, READONLY, MISCONF), or that a key is of a
 * type that the project does not store (WRONGTYPE), is not the script's fault.
 */
#include "core/answer.h"
#include "lab/sim/world.h"

void sim_errors_executed(struct sim_world *world, const struct sim_conn *conn,
                         const struct fake_words *words, struct rl_slice reply)
{
    if (rl_slice_starts(reply, "-ERR") && rl_slice_starts(words->word[0], "EVAL"))
        sim_fail(world, SIM_ORACLE_ERRORS, "n%u: %.*s", conn->node->index + 1,
                 (int)reply.size - 2, reply.data);
}
