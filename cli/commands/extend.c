/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/adopt.h"

static int extend_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_words words[] = {
        {REDLOCK_LOST, "not renewed: it has expired", "not renewed, it has another value",
         "stop what it protects, and take it again with `redlock lock`"},
        {REDLOCK_NOQUORUM, NULL, NULL,
         "try again before it expires; `redlock nodes` shows the state of the nodes, and slow "
         "ones need a longer --node-timeout"},
        {0},
    };
    return adopt_each(command, argc, argv, true, words);
}

static const struct cli_option options[] = {TTL_OPTION, {0}};

const struct command command_extend = {
    .name = "extend",
    .summary = "renew a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Renews the lock NAME for TTL from now, if it still has VALUE, which `redlock lock` "
        "printed; the token behind it may follow. Never shortens it and never takes it anew. "
        "VALUE may be - to read it from "
        "standard input, or be left out when REDLOCK_VALUE has it: a word on the command "
        "line can be seen by others with ps. Several NAMEs that were locked together need "
        "VALUE or - behind them.\n\n"
        "Exits with 76 when the lock is no longer ours, 69 when too few nodes confirmed.\n",
    .examples = "echo \"$value\" | redlock extend -t 1m deploy -",
    .options = options,
    .run = extend_main,
};
