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
        json_integer(&j, "ttl_ms", h->settings.ttl_ms);
        json_integer(&j, "validity_ms", redlock_remaining_ms(h->lock[index]));
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
    const char *advice = NULL, *text = NULL;
    if (error == REDLOCK_LOST) {
        text = "not renewed: it has expired or is held by another";
        advice = "stop what it protects, and take it again with `redlock lock`";
    } else if (error == REDLOCK_NOQUORUM) {
        advice = "try again before it expires; `redlock nodes` shows the state of the nodes";
    }
    return adopt_report_failure(h, index, error, text, advice);
}

static int renew(const struct adopted_locks *h, size_t index)
{
    return redlock_extend(h->lock[index], h->settings.ttl_ms);
}

static int extend_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_operation operation = {renew, succeeded, failed};
    return adopt_each(command, argc, argv, &operation);
}

static const struct cli_option options[] = {TTL_OPTION, {0}};

const struct command command_extend = {
    .name = "extend",
    .summary = "renew a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Renews the lock NAME for TTL from now, if it still has VALUE, which `redlock lock` "
        "printed. Never shortens it and never takes it anew. VALUE may be - to read it from "
        "standard input, or be left out when REDLOCK_VALUE has it: a word on the command "
        "line can be seen by others with ps. Several NAMEs that were locked together need "
        "VALUE or - behind them.\n\n"
        "Exits with 76 when the lock is no longer ours, 69 when too few nodes confirmed.\n",
    .examples = "echo \"$value\" | redlock extend -t 1m deploy -",
    .options = options,
    .run = extend_main,
};
