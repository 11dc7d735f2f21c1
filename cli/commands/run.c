/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lock/value_word.h"
#include "report/report.h"
#include "run/process_tree.h"
#include "run/reaper.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define URGENT_NICE (-10) /* for this process alone, while the command runs */
#define START_TRIES 5     /* of --every: each but the last was stopped before it could start */

static int report_not_acquired(struct run *r, int error, int signal)
{
    bool busy = error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT;
    if (signal)
        return EXIT_SIGNAL + signal;
    if (busy && r->skip_ok)
        return 0;
    return held_lock_report_failure(&r->held, &r->settings, &r->terms, error,
                                    (int)r->busy_status);
}

/* What became of the lock and of the command when the lock ended too early. */
static const char *describe_loss(const struct supervision *w)
{
    if (w->survived && w->overtime)
        return "the command ran for longer than --max-hold allows, and some of what it has "
               "started could not be killed; the lock was given back";
    if (w->survived)
        return "the lock was lost, and some of what the command has started could not be "
               "killed";
    if (w->on_lost == ON_LOST_IGNORE)
        return "the lock was lost while the command ran, and the command ran on";
    if (w->late)
        return w->killed && !w->obeyed
                   ? "the lock was lost while the command ran, and the command was killed"
                   : "the lock was lost while the command ran, and the command was stopped "
                     "late";
    if (w->killed && !w->obeyed)
        return "the lock could not be renewed, and the command was killed before it ended";
    if (w->terminated)
        return "the lock could not be renewed, and the command was stopped in time";
    return "the lock was lost before it was released";
}

/* The last renewal may not have been answered yet: an earlier one shows more than that. */
static void fill_gaps(redlock_report *report, const redlock_report *failed_renewal)
{
    for (uint32_t i = 0; i < report->node_count && i < failed_renewal->node_count; i++) {
        redlock_node_report *n = &report->node[i];
        if (n->vote == REDLOCK_VOTE_NONE || n->vote == REDLOCK_VOTE_PENDING)
            *n = failed_renewal->node[i];
    }
}

static int report_lost(struct run *r, int error, const char *text)
{
    struct failure f;
    r->ended = !r->supervision.survived;
    f = (struct failure){
        .name = r->terms.name[0],
        .error = error,
        .status = EXIT_LOST,
        .text = text,
        .advice = error == REDLOCK_OK || error == REDLOCK_NOQUORUM
                      ? "check what it protected, and the nodes: `redlock nodes`"
                      : NULL,
        .report = &r->held.report,
    };
    return report_failure(&r->settings, &f);
}

/* The lock was there to the end, and has been given back. */
static int report_overtime(struct run *r)
{
    const struct supervision *w = &r->supervision;
    char text[160], limit[TEXT_TIME_MAX];
    struct failure f;
    text_time(limit, r->max_hold_ms);
    snprintf(text, sizeof text, "the command ran for longer than %s (--max-hold), and was %s",
             limit, w->killed && !w->obeyed ? "killed" : "stopped");
    f = (struct failure){
        .name = r->terms.name[0],
        .error = REDLOCK_EXPIRED,
        .status = EXIT_LOST,
        .text = w->survived ? describe_loss(w) : text,
        .advice = "check what it has done so far; --max-hold is how long it may run",
    };
    r->ended = !w->survived;
    return report_failure(&r->settings, &f);
}

/* The lock was gone. Of an exclusive lock the nodes can show whether another holder
 * has it now. */
static bool is_taken(struct run *r)
{
    redlock_answer *answer = NULL;
    bool taken;
    if (!r->terms.owner || !r->held.client ||
        redlock_query(r->held.client, r->terms.name[0], &answer) != REDLOCK_OK)
        return false;
    taken = answer->info->held && strcmp(answer->info->owner, r->terms.owner) != 0;
    if (taken)
        r->held.report = *answer->report;
    redlock_answer_free(answer);
    return taken;
}

/* The child is gone. Gives the lock back and decides the exit status. */
static int finish(struct run *r)
{
    const struct supervision *w = &r->supervision;
    bool was_lost = r->held.state == REDLOCK_STATE_LOST;
    int error;
    bool lost;
    redlock_report renewal;
    const redlock_report *last;
    if (w->overtime && !was_lost) {
        held_lock_release(&r->held);
        return report_overtime(r);
    }
    lost = was_lost || w->terminated;
    /* What the failed renewal met explains more than the release to come. */
    renewal = (redlock_report){0};
    last = r->held.lock ? redlock_lock_report(r->held.lock) : NULL;
    if (lost && last)
        renewal = *last;

    error = held_lock_release(&r->held);
    if (lost) {
        int lost_error = was_lost ? r->held.lost_error : REDLOCK_NOQUORUM;
        fill_gaps(&renewal, &r->held.failed_renewal);
        if (renewal.node_count > 0)
            r->held.report = renewal;
        held_lock_find_successor(&r->held, &r->terms);
        return report_lost(r, lost_error, describe_loss(w));
    }
    if (error == REDLOCK_EXPIRED && is_taken(r))
        error = REDLOCK_LOST;
    if (error == REDLOCK_LOST)
        return report_lost(r, error, "another took the lock while the command ran");
    if (error == REDLOCK_EXPIRED)
        return report_lost(r, error, "the lock was gone from the nodes before it was released");
    if (error != REDLOCK_OK && !r->settings.quiet) {
        held_lock_warn_unreleased(&r->held, "the command is done, but ");
        report_table(&r->held.report, errors_stream());
    }
    return child_exit_status(&w->child);
}

/* The lock was granted, and there was no time left to run the command under it. */
static int report_too_late(struct run *r)
{
    int error = r->held.lost_error ? r->held.lost_error : REDLOCK_LOST;
    bool record_is_late = period_is_late(&r->period);
    period_undo(&r->period);
    held_lock_release(&r->held);
    r->start_again =
        record_is_late && !r->supervision.asked_to_end && ++r->late_starts < START_TRIES;
    if (r->start_again)
        return 0;
    return report_lost(
        r, error,
        record_is_late ? "the command could not be started within a second of the record of "
                         "--every, which was taken back; it was not"
                       : "too little was left of the lock when the command could be started; "
                         "it was not");
}

/* The child could not execute the command. */
static int report_not_run(struct run *r)
{
    int error = r->supervision.child.start_error;
    if (error == ETIME)
        return report_too_late(r);
    period_undo(&r->period);
    held_lock_release(&r->held);
    return child_explain(r->command[0], error);
}

/* A variable of a lock around this one would be wrong: what we have not, is taken away. */
static bool set_number(const char *variable, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return number > 0 ? setenv(variable, text, 1) == 0 : unsetenv(variable) == 0;
}

/* --no-env: the variables that name the nodes or the service, and the secrets for them. */
static bool hide_settings(void)
{
    return unsetenv("REDLOCK_NODES") == 0 && unsetenv("REDLOCK_PASSWORD") == 0 &&
           unsetenv("REDLOCK_SENTINEL_PASSWORD") == 0 && unsetenv("REDLOCK_SERVICE") == 0 &&
           unsetenv("REDLOCK_TOKEN_FILE") == 0;
}

static int set_environment(const struct run *r)
{
    const struct held_lock *held = &r->held;
    char value[VALUE_WORD_MAX] = "";
    bool found;
    if (held->lock)
        value_word_write(value, redlock_value(held->lock));
    /* What this run added the last time is not held around it. */
    found = r->held_around ? setenv("REDLOCK_HELD", r->held_around, 1) == 0
                           : unsetenv("REDLOCK_HELD") == 0;
    if (!found || !set_number("REDLOCK_FENCE", held_lock_fence(held)) ||
        (r->leads && !set_number("REDLOCK_TERM", held_lock_fence(held))) ||
        !set_number("REDLOCK_SLOT", held_lock_slot(held)) ||
        !set_number("REDLOCK_DEADLINE", held_lock_deadline_ns(held)) ||
        (value[0] ? setenv("REDLOCK_VALUE", value, 1) : unsetenv("REDLOCK_VALUE")) != 0 ||
        (r->hide_settings && !hide_settings()) || !terms_set_environment(&r->terms))
        return message_fail(EXIT_INTERNAL, "out of memory");
    return 0;
}

/* The lock was granted, but it has run within the period, or that it runs could
 * not be recorded. */
static int report_not_recorded(struct run *r, int error)
{
    if (error == REDLOCK_LOST)
        return report_too_late(r);
    held_lock_release(&r->held);
    if (error == REDLOCK_BUSY && r->skip_ok)
        return 0;
    return period_report(&r->period, &r->settings, r->terms.name[0], error,
                         (int)r->busy_status);
}

/* The lock is held; the caller releases it if it still is on return. */
static int run_held(struct run *r)
{
    struct supervision *w = &r->supervision;
    int64_t start_by_ns, margin_ms, now_ns;
    int error, status;
    w->held = &r->held;
    w->name = r->terms.name[0];
    now_ns = timer_now_ns();
    w->hold_until_ns = now_ns + r->min_hold_ms * RL_NS_PER_MS;
    w->end_ns = r->max_hold_ms ? now_ns + r->max_hold_ms * RL_NS_PER_MS : 0;
    if (r->settings.verbose) {
        char shown[TERMS_TEXT_MAX];
        terms_text(&r->terms, shown);
        message_line("%s: locked", shown);
        report_table(&r->held.report, errors_stream());
    }
    error = period_begin(&r->period, &r->held, r->terms.label);
    if (error != REDLOCK_OK)
        return report_not_recorded(r, error);
    /* The process may have been stopped since the grant: look before the fork, and the child
     * looks again before it executes the command, at the record as well. */
    margin_ms = supervise_start_margin_ms(w);
    if (!held_lock_freshen(&r->held, margin_ms))
        return report_too_late(r);
    status = set_environment(r);
    if (status) {
        period_undo(&r->period);
        return status;
    }
    process_tree_adopt_orphans();
    start_by_ns = held_lock_deadline_ns(&r->held) - margin_ms * RL_NS_PER_MS;
    if (r->period.period_ms > 0 && r->period.start_by_ns < start_by_ns)
        start_by_ns = r->period.start_by_ns;
    error = child_fork(&w->child, r->command, start_by_ns);
    if (error) {
        period_undo(&r->period);
        held_lock_release(&r->held);
        return child_explain(r->command[0], error);
    }
    /* It sleeps nearly always, but must not come late on a busy machine. Without the right to,
     * it stays as it is. */
    setpriority(PRIO_PROCESS, 0, URGENT_NICE);
    error = supervise_child(w);
    if (error)
        return message_fail(EXIT_INTERNAL, "%s", strerror(error));
    return w->child.start_error ? report_not_run(r) : finish(r);
}

static int acquire_and_run(struct run *r)
{
    int signal = 0;
    int error = held_lock_acquire(&r->held, &r->settings, &r->terms, REDLOCK_RENEW,
                                  r->supervision.signal_fd, &signal);
    return error == REDLOCK_OK ? run_held(r) : report_not_acquired(r, error, signal);
}

/* The next round begins as the first did, on the connections that there are. */
static void begin_anew(struct run *r)
{
    struct supervision *w = &r->supervision;
    redlock_lock_free(r->held.lock);
    service_hold_free(r->held.hold);
    r->held = (struct held_lock){.client = r->held.client,
                                 .service = r->held.service,
                                 .settings = r->held.settings,
                                 .state = REDLOCK_STATE_HELD};
    r->ended = r->start_again = false;
    child_close(&w->child);
    *w = (struct supervision){
        .signal_fd = w->signal_fd,
        .timer_fd = w->timer_fd,
        .on_lost = w->on_lost,
        .signal = w->signal,
        .grace_ms = w->grace_ms,
        .kill_margin_ms = w->kill_margin_ms,
    };
    child_prepare(&w->child, -1, r->reaper_fd);
}

static int run_rounds(struct run *r)
{
    int status;
    /* Before there are connections that it would inherit. */
    r->reaper_fd = reaper_start();
    child_prepare(&r->supervision.child, -1, r->reaper_fd);
    status = held_lock_open(&r->held, &r->settings);
    if (status == 0)
        status = period_open(&r->period, &r->settings, r->terms.name[0]);
    if (status)
        return status;
    if (period_look(&r->period, &r->held) == REDLOCK_BUSY)
        return r->skip_ok ? 0
                          : period_report(&r->period, &r->settings, r->terms.name[0],
                                          REDLOCK_BUSY, (int)r->busy_status);
    status = acquire_and_run(r);
    while (r->start_again || (r->leads && r->ended && !r->supervision.asked_to_end)) {
        if (!r->start_again)
            message_warn("the term has ended; standing for election again");
        begin_anew(r);
        status = period_open(&r->period, &r->settings, r->terms.name[0]);
        if (status == 0)
            status = acquire_and_run(r);
    }
    return status;
}

static int run_main(const struct command *command, int argc, char **argv)
{
    struct run r = {.reaper_fd = -1,
                    .supervision = {.signal_fd = -1,
                                    .timer_fd = -1,
                                    .child = {.tty_fd = -1, .outcome_fd = -1}}};
    char *held_around = getenv("REDLOCK_HELD") ? strdup(getenv("REDLOCK_HELD")) : NULL;
    int status;
    r.held_around = held_around;
    status = run_read(&r, command, argc, argv);
    if (status)
        goto cleanup;
    r.supervision.signal_fd = signals_take();
    r.supervision.timer_fd = timer_open();
    status = r.supervision.signal_fd < 0 ? EXIT_INTERNAL
             : r.supervision.timer_fd < 0
                 ? message_fail(EXIT_INTERNAL, "cannot make a timer: %s", strerror(errno))
                 : run_rounds(&r);
cleanup:
    child_close(&r.supervision.child);
    held_lock_close(&r.held);
    period_close(&r.period);
    free(held_around);
    settings_free(&r.settings);
    if (r.reaper_fd >= 0)
        close(r.reaper_fd);
    if (r.supervision.signal_fd >= 0)
        close(r.supervision.signal_fd);
    if (r.supervision.timer_fd >= 0)
        close(r.supervision.timer_fd);
    return status;
}

const struct command command_run = {
    .name = "run",
    .elsewhere = "exec",
    .summary = "run a command while holding a lock",
    .usage = "[OPTION...] NAME... -- COMMAND [ARGUMENT...]",
    .about =
        "Waits for the lock NAME, for ever unless the wait is limited, runs COMMAND, and gives "
        "the lock back when COMMAND ends, in whatever way. The lock is renewed as long as "
        "COMMAND runs. If it cannot be renewed, COMMAND gets TERM (--on-lost, --grace), and "
        "before the lock ends, KILL ends it and everything it has started.\n\n"
        "Several NAMEs are locked together, all or none, in whatever order they are given. "
        "With --shared, others may hold NAME with --shared at the same time; with --slots K, K "
        "may. Without --, the first word is the only NAME and the rest is COMMAND.\n\n"
        "A `redlock run` inside COMMAND may take the same NAME again: it has the same owner "
        "(REDLOCK_OWNER). That is for a plain NAME only; where it would wait for itself, it "
        "reports that and exits with 64.\n\n"
        "COMMAND finds in its environment REDLOCK_NAME (REDLOCK_NAMES), REDLOCK_KIND, "
        "REDLOCK_OWNER, REDLOCK_VALUE, REDLOCK_DEADLINE, REDLOCK_SLOT (which of the slots, "
        "from 1) and REDLOCK_FENCE: a number that grows with every holder, for the protected "
        "resource to refuse requests with a smaller one than it has seen. It also inherits "
        "REDLOCK_NODES and REDLOCK_PASSWORD, which a `redlock run` inside COMMAND needs; "
        "--no-env takes both away.\n\n"
        "Exits with COMMAND's own status (128 + N when signal N ended it), or with 75 when the "
        "lock is held by another, 69 when too few nodes could vote, 76 when the lock was lost, "
        "64 and 78 for a wrong command line or configuration, 77 when the nodes refuse the "
        "credentials, 126 or 127 when COMMAND cannot be run.\n",
    .examples = "redlock run backup -- /usr/local/bin/backup --all\n"
                "redlock run -n --skip-ok --every 23h nightly -- make report   # from cron\n"
                "redlock run -t 1m --on-lost INT --grace 8s import -- ./import.sh\n"
                "redlock run --shared index -- ./search        # many readers, or one writer\n"
                "redlock run --slots 2 gpu -- sh -c './train --gpu $REDLOCK_SLOT'\n"
                "redlock run from-account to-account -- ./transfer",
    .options = run_options,
    .run = run_main,
};

const struct command command_lead = {
    .name = "lead",
    .summary = "run a command on one of many machines: the leader",
    .usage = "[OPTION...] NAME -- COMMAND [ARGUMENT...]",
    .about =
        "Started on every machine: waits until it is elected, which is to hold the lock NAME, "
        "and runs COMMAND. The lock is renewed for as long as COMMAND runs. If it cannot be, "
        "COMMAND is stopped before the deadline of the lock (--on-lost, --grace), with "
        "everything it has started, and this machine stands for election again: COMMAND runs "
        "again and again.\n\n"
        "REDLOCK_TERM, which is also REDLOCK_FENCE, numbers the term: it is larger than in "
        "every earlier one. A leader that was stopped acts late when it goes on, until it is "
        "killed; a resource that refuses terms smaller than the largest it has seen is safe "
        "from that. It is never more than a lock with an expiry gives. redlock-leader(7) has "
        "more.\n\n"
        "To resign is to release the lock: COMMAND ends, and so does this, with its status. A "
        "service manager that starts it again makes it a candidate again. INT, TERM and QUIT "
        "are passed on to COMMAND, and end this when it has ended. After --max-hold it resigns "
        "and stands again; with --fair, the others come first.\n\n"
        "Exits as `redlock run` does.\n",
    .examples = "redlock lead --label \"$(hostname -f)\" scheduler -- ./scheduler\n"
                "redlock lead --fair --max-hold 1h shard-7 -- ./indexer",
    .options = lead_options,
    .run = run_main,
};
