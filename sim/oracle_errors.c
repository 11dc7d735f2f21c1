/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts run to their end: none fails with an error of the language or calls a command wrongly.
 * That a node refuses (NOSCRIPT, LOADING, READONLY, MISCONF), or that a key is of a type that the
 * project does not store (WRONGTYPE), is not the script's fault.
 */
#include "core/answer.h"
#include "sim/world.h"

void sim_errors_executed(struct sim_world *world, const struct sim_conn *conn,
                         const struct sim_words *words, struct rl_slice reply)
{
    const char *name = sim_scripts_name(words);

    if (rl_slice_starts(words->word[0], "EVAL") && rl_slice_starts(reply, "-ERR"))
        sim_fail(world, "scripts run to their end", "n%u: %s: %.*s", conn->node->index + 1,
                 name ? name : "no script of ours", (int)reply.size - 2, reply.data);
}
