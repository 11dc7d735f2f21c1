/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "command.h"
#include "duration.h"
#include "exit.h"
#include "message.h"
#include "report.h"
#include "signals.h"
#include "text.h"
#include "timer.h"
#include "watch.h"

enum { OPTION_BUSY_STATUS = OPTION_OWN, OPTION_SKIP_OK, OPTION_MIN_HOLD, OPTION_GRACE };

#define GRACE_DEFAULT (-1)

struct run {
    struct settings settings;
    const char *name;
    char **command;
    int busy_status;
    bool skip_ok;
    int64_t min_hold_ms;
    int64_t grace_ms;
    struct hold hold;
    struct watch watch;
};

static int read_busy_status(struct run *r, const char *value)
{
    char *end;
    errno = 0;
    long status = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || status > 255)
        return message_usage("-E takes an exit status from 0 to 255");
    r->busy_status = (int)status;
    return 0;
}

static int read_time(const char *option, const char *value, int64_t *out_ms)
{
    char shown[TEXT_QUOTE_MAX];
    const char *problem = duration_parse(value, out_ms);
    if (!problem)
        return 0;
    text_quote(shown, value);
    return message_usage("--%s: '%s' %s", option, shown, problem);
}

/* NAME, or the start of COMMAND; `dashes` when it is a -- that was read. */
static int take_word(struct run *r, struct args *a, const char *word, bool dashes)
{
    if (!dashes && !r->name) {
        r->name = word;
        return 0;
    }
    if (!dashes) {
        r->command = a->argv + a->at - 1;
    } else if (r->name) {
        r->command = a->argv + a->at;
    } else {
        /* `-- NAME -- COMMAND` is for names that start with a dash. */
        if (a->at + 1 >= a->argc || strcmp(a->argv[a->at + 1], "--") != 0)
            return message_usage("NAME is missing in front of --");
        r->name = a->argv[a->at];
        r->command = a->argv + a->at + 2;
    }
    a->at = a->argc; /* the rest is not ours to read */
    return 0;
}

static int read_options(struct run *r, struct args *a)
{
    const char *value;
    int id, status = 0;
    while (status == 0 && (id = args_next(a, &value)) != ARGS_END) {
        switch (id) {
        case ARGS_STOP:
            return a->status;
        case ARGS_WORD:
        case ARGS_DASHES:
            status = take_word(r, a, value, id == ARGS_DASHES);
            break;
        case OPTION_BUSY_STATUS:
            status = read_busy_status(r, value);
            break;
        case OPTION_SKIP_OK:
            r->skip_ok = true;
            break;
        case OPTION_MIN_HOLD:
            status = read_time("min-hold", value, &r->min_hold_ms);
            break;
        case OPTION_GRACE:
            status = read_time("grace", value, &r->grace_ms);
            break;
        }
    }
    return status;
}

static int check_options(struct run *r)
{
    if (!r->name)
        return message_usage("NAME is missing: which lock?");
    int status = command_check_name(r->name);
    if (status)
        return status;
    if (!r->command || !r->command[0])
        return message_usage("COMMAND is missing: what should run under the lock?");
    status = settings_complete(&r->settings);
    if (status == 0)
        status = settings_check_ttl(&r->settings);
    if (status)
        return status;
    int64_t ttl_ms = r->settings.ttl_ms;
    /* Renewal begins when two thirds are left: a longer grace would end a healthy lock. */
    if (r->grace_ms > ttl_ms / 2)
        return message_usage("--grace may be at most half of the TTL");
    r->watch.grace_ms = r->grace_ms == GRACE_DEFAULT ? ttl_ms / 3 : r->grace_ms;
    r->watch.kill_margin_ms = watch_kill_margin_ms(ttl_ms);
    return 0;
}

static int report_not_acquired(struct run *r, int error, int signal)
{
    bool busy = error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT;
    if (signal)
        return EXIT_SIGNAL + signal;
    if (busy && r->skip_ok)
        return 0;
    if (busy && !r->settings.quiet)
        report_complete(r->hold.client, r->name, &r->hold.report);
    struct failure f = {
        .name = r->name,
        .error = error,
        .status = busy ? r->busy_status : exit_status_of(error),
        .text = r->hold.detail,
        .report = &r->hold.report,
    };
    return report_failure(&r->settings, &f);
}

static int report_lost(struct run *r, int error, const char *text)
{
    struct failure f = {
        .name = r->name,
        .error = error,
        .status = EXIT_LOST,
        .text = text,
        .report = &r->hold.report,
    };
    return report_failure(&r->settings, &f);
}

/* The child is gone. Gives the lock back and decides the exit status. */
static int finish(struct run *r)
{
    const struct watch *w = &r->watch;
    bool lost = r->hold.lost || w->terminated;
    int lost_error = r->hold.lost ? r->hold.lost_error : REDLOCK_NOQUORUM;
    /* What the failed renewal met says more than the release to come. */
    redlock_report renewal = {.size = sizeof renewal};
    if (!lost || redlock_lock_report(r->hold.lock, &renewal) != REDLOCK_OK)
        renewal.node_count = 0;

    int error = hold_release(&r->hold);
    if (lost) {
        if (renewal.node_count > 0)
            r->hold.report = renewal;
        const char *text = "the lock was lost before it was released";
        if (w->killed)
            text = "the lock was lost while the command ran, and the command was killed";
        else if (w->terminated)
            text = "the lock could not be renewed, and the command was stopped in time";
        return report_lost(r, lost_error, text);
    }
    if (error == REDLOCK_LOST)
        return report_lost(r, error, "another took the lock while the command ran");
    if (error == REDLOCK_EXPIRED)
        return report_lost(r, error, "the lock was gone from the nodes before it was released");
    if (error != REDLOCK_OK && !r->settings.quiet) {
        message_warn(
            "the command is done, but too few nodes confirmed the release; what is left "
            "of the lock expires within its TTL");
        report_table(&r->hold.report, stderr);
    }
    return child_exit_status(&w->child);
}

static int set_environment(const struct run *r)
{
    char deadline[24];
    snprintf(deadline, sizeof deadline, "%lld", (long long)redlock_deadline_ns(r->hold.lock));
    if (setenv("REDLOCK_NAME", r->name, 1) != 0 ||
        setenv("REDLOCK_VALUE", redlock_value(r->hold.lock), 1) != 0 ||
        setenv("REDLOCK_DEADLINE", deadline, 1) != 0)
        return message_fail(EXIT_INTERNAL, "out of memory");
    return 0;
}

/* The lock is held; whoever called this gives it back, should it still be on return. */
static int run_held(struct run *r)
{
    struct watch *w = &r->watch;
    w->hold = &r->hold;
    w->hold_until_ns = timer_now_ns() + r->min_hold_ms * NS_PER_MS;
    if (r->settings.verbose) {
        char shown[TEXT_QUOTE_MAX];
        text_quote(shown, r->name);
        message_line("%s: locked", shown);
        report_table(&r->hold.report, stderr);
    }
    int status = set_environment(r);
    if (status)
        return status;
    int error = child_start(&w->child, r->command, -1);
    if (error) {
        child_close(&w->child);
        hold_release(&r->hold);
        return child_explain(r->command[0], error);
    }
    error = watch_child(w);
    child_close(&w->child);
    return error ? message_fail(EXIT_INTERNAL, "%s", strerror(error)) : finish(r);
}

static int run_main(const struct command *command, int argc, char **argv)
{
    struct run r = {.busy_status = EXIT_BUSY,
                    .grace_ms = GRACE_DEFAULT,
                    .watch = {.signal_fd = -1, .timer_fd = -1}};
    struct args a;
    int signal = 0;
    settings_init(&r.settings);
    args_begin(&a, command, &r.settings, argc, argv);
    int status = read_options(&r, &a);
    if (status == 0 && !a.stopped)
        status = check_options(&r);
    if (status || a.stopped)
        goto cleanup;
    r.watch.signal_fd = signals_take();
    r.watch.timer_fd = timer_open();
    if (r.watch.signal_fd < 0 || r.watch.timer_fd < 0) {
        status = message_fail(EXIT_INTERNAL, "cannot wait for signals: %s", strerror(errno));
        goto cleanup;
    }
    status = client_open(&r.settings, &r.hold.client);
    if (status)
        goto cleanup;
    int error =
        hold_acquire(&r.hold, &r.settings, r.name, REDLOCK_RENEW, r.watch.signal_fd, &signal);
    status = error == REDLOCK_OK ? run_held(&r) : report_not_acquired(&r, error, signal);
cleanup:
    hold_close(&r.hold);
    settings_free(&r.settings);
    if (r.watch.signal_fd >= 0)
        close(r.watch.signal_fd);
    if (r.watch.timer_fd >= 0)
        close(r.watch.timer_fd);
    return status;
}

static const struct option options[] = {
    OPTION_NO_WAIT,
    OPTION_WAIT,
    OPTION_TTL,
    {OPTION_BUSY_STATUS, 'E', "busy-status", "N",
     "exit status when it is held by another (75)"},
    {OPTION_SKIP_OK, 0, "skip-ok", NULL, "exit with 0 when it is held by another"},
    {OPTION_MIN_HOLD, 0, "min-hold", "TIME", "keep the lock at least this long"},
    {OPTION_GRACE, 0, "grace", "TIME", "TERM this long before the lock ends (a third of TTL)"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .summary = "run a command while holding a lock",
    .usage = "[OPTION...] NAME [--] COMMAND [ARGUMENT...]",
    .about =
        "Waits for the lock NAME, for ever unless told otherwise, runs COMMAND, and gives "
        "the lock back when COMMAND ends, in whatever way. The lock is renewed as long as "
        "COMMAND runs. If it cannot be renewed, COMMAND gets TERM and then KILL before the "
        "lock ends.\n\n"
        "Exits with COMMAND's own status (128 + N when signal N ended it), or with 75 when "
        "the lock is held by another, 69 when too few nodes could vote, 76 when the lock "
        "was lost, 64 and 78 for a wrong command line or configuration, 77 when the nodes "
        "refuse the credentials, 126 or 127 when COMMAND cannot be run.\n",
    .examples = "redlock run backup -- /usr/local/bin/backup --all\n"
                "redlock run -n --skip-ok --min-hold 30s nightly -- make report   # from cron\n"
                "redlock run -w 5m -t 30s -E 1 deploy ./deploy.sh",
    .options = options,
    .run = run_main,
};
