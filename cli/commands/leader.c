/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/look.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"

#define DELAY_MS 500
#define RETRY_MS 50 /* after a look that had too few answers, once */

struct leader {
    struct look look;
    bool until_elected, changes; /* --wait, --watch */
    /* What the last look found. */
    int64_t term; /* 0: there is no leader */
    char label[REDLOCK_LABEL_MAX + 1];
    int64_t remaining_ms;
};

static bool on_found(const struct snapshot *s, void *data)
{
    struct leader *l = data;
    bool is_exclusive = redlock_kind_traits(s->kind) & REDLOCK_KIND_EXCLUSIVE;
    /* A lock without a token has no term. */
    l->term = s->held && is_exclusive ? s->fence : 0;
    l->remaining_ms = s->left_ms;
    snprintf(l->label, sizeof l->label, "%s", l->term ? s->holder[0].label : "");
    return true;
}

/* One line: the term and the label, or that there is no leader. */
static int print(const struct leader *l)
{
    char safe[2 * REDLOCK_LABEL_MAX];
    struct snapshot known = {.name = l->look.name[0]};
    struct rl_json j = {.out = stdout};
    if (l->look.settings.json) {
        show_time_json(&known, &j);
        rl_json_known(&j, "term", l->term ? l->term : -1);
        rl_json_string(&j, "label", l->label);
        rl_json_known(&j, "remaining_ms", l->term ? l->remaining_ms : -1);
        rl_json_finish(&j);
    } else if (l->term) {
        rl_quote_safe(safe, sizeof safe, l->label);
        printf("%" PRId64 " %s\n", l->term, safe);
    } else if (l->changes) {
        printf("none\n");
    }
    return message_flush();
}

static int show(struct leader *l)
{
    int status = look_at(&l->look, l->look.name, 1, on_found, l);
    if (status == 0 && l->look.failed.error)
        status = look_fail(&l->look, &l->look.failed);
    if (status == 0)
        status = print(l);
    if (status || l->term)
        return status;
    if (!l->look.settings.json)
        message_line("no leader");
    return EXIT_NOT_HELD;
}

/* Looks again and again: until there is a leader, or with --watch for ever. */
static int follow(struct leader *l)
{
    int64_t term = -1; /* of the last line */
    bool warned = false;
    int failures = 0;
    do {
        int status = look_at(&l->look, l->look.name, 1, on_found, l);
        int error = l->look.failed.error;
        if (status)
            return status;
        if (error && error != REDLOCK_NOQUORUM && error != REDLOCK_GUARDED)
            return look_fail(&l->look, &l->look.failed);
        failures = error ? failures + 1 : 0;
        if (failures > 1 && !warned && !l->look.settings.quiet)
            message_warn("too few nodes answer; asking until they do");
        warned = failures > 1;
        if (!error && l->term != term && (l->changes || l->term)) {
            status = print(l);
            if (status || !l->changes)
                return status;
            term = l->term;
        }
    } while (look_sleep(&l->look, failures == 1 ? RETRY_MS : DELAY_MS, TIMER_NEVER));
    return l->changes && l->look.signal != SIGPIPE ? 0 : EXIT_SIGNAL + l->look.signal;
}

static int check(void *data)
{
    const struct leader *l = data;
    if (l->look.count > 1)
        return message_usage("one NAME has one leader; leave the others out");
    if (l->until_elected && l->changes)
        return message_usage(
            "--wait ends with the first leader, --watch does not; leave one of them out");
    return 0;
}

static int run(void *data)
{
    struct leader *l = data;
    l->look.needs_reader = l->changes;
    return l->until_elected || l->changes ? follow(l) : show(l);
}

static int leader_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {
        .needs_name = true, .signals = true, .check = check, .run = run};
    struct leader l = {.until_elected = false};
    return look_main(&l.look, command, argc, argv, &own);
}

static const struct cli_option options[] = {
    SWITCH(0, "wait", "wait until there is a leader", struct leader, until_elected),
    SWITCH(0, "watch", "a line for every term, and \"none\" in between", struct leader,
           changes),
    SERVICE_OPTIONS,
    {0},
};

const struct command command_leader = {
    .name = "leader",
    .summary = "show the leader: its term and its label",
    .usage = "[OPTION...] NAME",
    .about =
        "Prints the term and the label of the leader of NAME (`redlock lead`, lead() of Python "
        "and Node, Lead() of Go). What it prints is old when it arrives: by then the term may "
        "have ended. A leader must not ask this whether it leads, but stop before the deadline "
        "of its lock; a request to a leader carries the term that is meant, and one of a "
        "smaller term is refused.\n\n"
        "--watch polls, every half second and when a term must have expired: a term that "
        "begins and ends between two looks is not seen.\n\n"
        "Exits with 0, or with 1 when there is no leader, 69 when too few nodes answer, 77 "
        "when they refuse the credentials.\n",
    .examples = "redlock leader scheduler\n"
                "read -r term address < <(redlock leader --wait scheduler)\n"
                "redlock leader --watch --json scheduler | jq -r '.label'",
    .options = options,
    .run = leader_main,
};
