/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "commands/adopt.h"
#include "report/report.h"
#include "settings/command.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"

static void succeeded(const struct adopted_locks *h, size_t index)
{
    redlock_report report = {.size = sizeof report};
    bool known = redlock_lock_report(h->lock[index], &report) == REDLOCK_OK;
    if (h->settings.json) {
        struct json j = {.out = stdout};
        message_json_success(&j);
        json_string(&j, "name", h->name[index]);
        if (known)
            report_json(&report, &j);
        json_end_object(&j);
        json_finish(&j);
    } else if (h->settings.verbose && known) {
        report_table(&report, errors_stream());
    }
}

static int failed(const struct adopted_locks *h, size_t index, int error)
{
    if (error == REDLOCK_LOST)
        return adopt_report_failure(h, index, error, "not released: another holds it now",
                                    NULL);
    if (error == REDLOCK_EXPIRED)
        return adopt_report_failure(
            h, index, error, "not released: it had already expired, or was never held", NULL);
    if (error == REDLOCK_NOQUORUM)
        return adopt_report_failure(
            h, index, error, NULL,
            "nothing: what is left of it expires with its TTL; `redlock nodes` "
            "shows the state of the nodes");
    return adopt_report_failure(h, index, error, NULL, NULL);
}

static int give_back(const struct adopted_locks *h, size_t index)
{
    return redlock_release(h->lock[index]);
}

static int unlock_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_operation operation = {give_back, succeeded, failed};
    return adopt_each(command, argc, argv, &operation);
}

static const struct cli_option options[] = {{0}};

const struct command command_unlock = {
    .name = "unlock",
    .summary = "give back a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Gives the lock NAME back, if it still has VALUE, which `redlock lock` printed. "
        "VALUE may be - to read it from standard input, or be left out when REDLOCK_VALUE "
        "has it: a word on the command line can be seen by others with ps. Several NAMEs that "
        "were locked together need VALUE or - behind them.\n\n"
        "Exits with 0 when it was released, 76 when it had expired before or another holds "
        "it now, 69 when too few nodes confirmed.\n",
    .examples = "redlock unlock deploy \"$value\"",
    .options = options,
    .run = unlock_main,
};
