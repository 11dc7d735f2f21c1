/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/adopt.h"

static int unlock_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_words words[] = {
        {REDLOCK_LOST, "not released: another holds it now",
         "not released, it has another value", NULL},
        {REDLOCK_EXPIRED, "not released: it had already expired, or was never held",
         "not released, it has another value", NULL},
        {REDLOCK_NOQUORUM, NULL, NULL,
         "what is left of it expires with its TTL; `redlock nodes` shows the state of "
         "the nodes, and slow ones need a longer --node-timeout"},
        {0},
    };
    return adopt_each(command, argc, argv, false, words);
}

static const struct cli_option options[] = {{0}};

const struct command command_unlock = {
    .name = "unlock",
    .summary = "give back a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Gives the lock NAME back, if it still has VALUE, which `redlock lock` printed; the "
        "token "
        "behind it may follow. "
        "VALUE may be - to read it from standard input, or be left out when REDLOCK_VALUE "
        "has it: a word on the command line can be seen by others with ps. Several NAMEs that "
        "were locked together need VALUE or - behind them.\n\n"
        "Exits with 0 when it was released, 76 when it had expired before or another holds "
        "it now, 69 when too few nodes confirmed.\n",
    .examples = "redlock unlock deploy \"$value\"",
    .options = options,
    .run = unlock_main,
};
