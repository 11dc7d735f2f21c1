/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/inquiry.h"
#include "commands/observer.h"
#include "report/report.h"
#include "settings/command.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_UNTIL_ELECTED = OPTION_OWN, OPTION_CHANGES };

#define DELAY_MS 500
#define RETRY_MS 50 /* after a look that had too few answers, once */

/* What a look found. */
struct leadership {
    int error;    /* of the question */
    int64_t term; /* 0: there is no leader */
    char label[REDLOCK_LABEL_MAX + 1];
    int64_t remaining_ms;
    redlock_report report;
    char detail[512];
};

struct leader {
    struct observer observer;
    bool until_elected, changes; /* --wait, --watch */
    struct leadership found;     /* by the last look */
};

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct leader *l = data;
    struct leadership *found = &l->found;
    const redlock_info *info = a->info;
    *found = (struct leadership){.error = a->error, .report = *a->report};
    snprintf(found->detail, sizeof found->detail, "%s", a->detail);
    if (a->error != REDLOCK_OK)
        return true;
    observer_note(&l->observer, info, a->report);
    /* A lock without a token has no term. */
    if (info->held && (redlock_kind_traits(info->kind) & REDLOCK_KIND_EXCLUSIVE) &&
        info->fence > 0) {
        found->term = info->fence;
        found->remaining_ms = report_longest_ms(info, a->report);
        snprintf(found->label, sizeof found->label, "%s", info->holder.label);
    }
    return true;
}

static int look(struct leader *l)
{
    struct observer *o = &l->observer;
    return inquire(&o->source, &o->settings, o->names, 1, on_answer, l);
}

static int report_unknown(const struct leader *l)
{
    const struct leadership *found = &l->found;
    struct failure f = {
        .name = l->observer.names[0],
        .error = found->error,
        .status = exit_status_of(found->error),
        .text = found->detail,
        .report = &found->report,
    };
    return report_failure(&l->observer.settings, &f);
}

/* One line: the term and the label, or that there is no leader. */
static int print(const struct leader *l)
{
    const struct leadership *found = &l->found;
    char safe[2 * REDLOCK_LABEL_MAX];
    if (l->observer.settings.json) {
        struct rl_json j = {.out = stdout};
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        message_json_success(&j);
        rl_json_string(&j, "name", l->observer.names[0]);
        rl_json_integer(&j, "time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
        rl_json_known(&j, "term", found->term ? found->term : -1);
        rl_json_string(&j, "label", found->label);
        rl_json_known(&j, "remaining_ms", found->term ? found->remaining_ms : -1);
        rl_json_finish(&j);
    } else if (found->term) {
        rl_quote_safe(safe, sizeof safe, found->label);
        printf("%" PRId64 " %s\n", found->term, safe);
    } else if (l->changes) {
        printf("none\n");
    }
    return message_flush();
}

static int show(struct leader *l)
{
    int status = look(l);
    if (status == 0 && l->found.error)
        status = report_unknown(l);
    if (status == 0)
        status = print(l);
    if (status || l->found.term)
        return status;
    if (!l->observer.settings.json)
        message_line("no leader");
    return EXIT_NOT_HELD;
}

/* Looks again and again: until there is a leader, or with --watch for ever. */
static int follow(struct leader *l)
{
    struct observer *o = &l->observer;
    int64_t term = -1; /* of the last line */
    bool warned = false;
    int failures = 0;
    for (;;) {
        int status = look(l), error = l->found.error;
        if (status)
            return status;
        if (error && error != REDLOCK_NOQUORUM && error != REDLOCK_GUARDED)
            return report_unknown(l);
        failures = error ? failures + 1 : 0;
        if (failures > 1 && !warned && !o->settings.quiet)
            message_warn("too few nodes answer; asking until they do");
        warned = failures > 1;
        if (!error && l->found.term != term && (l->changes || l->found.term)) {
            status = print(l);
            if (status || !l->changes)
                return status;
            term = l->found.term;
        }
        if (!observer_sleep(o, failures == 1 ? RETRY_MS : DELAY_MS, TIMER_NEVER))
            return l->changes && o->signal != SIGPIPE ? 0 : EXIT_SIGNAL + o->signal;
    }
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct leader *l = data;
    if (id == OPTION_UNTIL_ELECTED)
        l->until_elected = true;
    if (id == OPTION_CHANGES)
        l->changes = l->observer.needs_reader = true;
    if (id == ARGS_WORD && l->observer.count > 0)
        return message_usage("one NAME has one leader; leave the others out");
    return id == ARGS_WORD ? observer_take_name(&l->observer, a, value) : 0;
}

static int leader_main(const struct command *command, int argc, char **argv)
{
    struct leader l = {.observer = {.signal_fd = -1}};
    int status = args_read(command, &l.observer.settings, argc, argv, take, &l);
    if (status == 0 && l.until_elected && l.changes)
        status =
            message_usage("--wait ends with the first leader, --watch does not; leave one of "
                          "them out");
    if (status == 0)
        status = observer_open(&l.observer);
    if (status == 0)
        status = l.until_elected || l.changes ? follow(&l) : show(&l);
    observer_close(&l.observer);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_UNTIL_ELECTED, 0, "wait", NULL, "wait until there is a leader"},
    {OPTION_CHANGES, 0, "watch", NULL, "a line for every term, and \"none\" in between"},
    SERVICE_OPTIONS,
    {0},
};

const struct command command_leader = {
    .name = "leader",
    .summary = "show the leader: its term and its label",
    .usage = "[OPTION...] NAME",
    .about =
        "Prints the term and the label of the leader of NAME (`redlock lead`, lead() of "
        "Python and "
        "Node). What it prints is old when it arrives: by then the term may have ended. A "
        "leader "
        "must not ask this whether it leads, but stop before the deadline of its lock; a "
        "request "
        "to a leader carries the term that is meant, and one of a smaller term is refused.\n\n"
        "--watch polls, every half second and when a term must have expired: a term that "
        "begins and "
        "ends between two looks is not seen.\n\n"
        "Exits with 0, or with 1 when there is no leader, 69 when too few nodes answer, 77 "
        "when "
        "they refuse the credentials.\n",
    .examples = "redlock leader scheduler\n"
                "read -r term address < <(redlock leader --wait scheduler)\n"
                "redlock leader --watch --json scheduler | jq -r '.label'",
    .options = options,
    .run = leader_main,
};
