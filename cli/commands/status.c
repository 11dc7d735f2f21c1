/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of certain locks, or of all that are there: `status` and `list`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "report/look.h"
#include "report/nodes.h"
#include "ui/exit.h"
#include "ui/message.h"

struct status {
    struct look look;
    bool test; /* --held: the exit status is whether all are held */
    bool some_free;
    size_t count;       /* shown */
    bool some_disagree; /* of those in the table */
    struct table table;
    int status;
};

/* Someone who writes a pattern does not mean a lock of that name. */
static void hint_at_list(const char *name)
{
    char shown[RL_QUOTE_MAX];
    rl_quote(shown, name);
    message_warn("'%s' is the name of one lock here; `redlock list '%s'` takes it as a pattern",
                 shown, shown);
}

static bool on_named(const struct snapshot *s, void *data)
{
    struct status *c = data;
    const struct settings *settings = &c->look.settings;
    if (s->error) {
        int failed = look_fail(&c->look, s);
        c->status = c->status ? c->status : failed;
        return true;
    }
    c->some_free = c->some_free || !s->held;
    if (settings->json)
        show_lock_json(c->look.client, s);
    else if (!settings->quiet)
        show_lock(settings, s);
    if (!s->held && !settings->json && strpbrk(s->name, "*?["))
        hint_at_list(s->name);
    return true;
}

static int show_named(struct status *c)
{
    struct look *l = &c->look;
    const struct settings *s = &l->settings;
    bool promises = s->verbose && l->client && !s->json;
    redlock *member;
    int failed = look_at(l, l->name, l->count, on_named, c);
    c->status = c->status ? c->status : failed;
    if (!s->json && !s->quiet)
        show_quarantine(l->client);
    for (size_t i = 0; promises && (member = redlock_member(l->client, i)); i++)
        guarantee_print(s, member, stdout);
    c->status = c->status ? c->status : message_flush();
    return c->status == 0 && c->test && c->some_free ? EXIT_NOT_HELD : c->status;
}

static bool on_listed(const struct snapshot *s, void *data)
{
    struct status *c = data;
    const struct settings *settings = &c->look.settings;
    if (s->error)
        return false;
    /* What was listed may be gone by now. */
    if (s->votes == 0 && s->waiter_count == 0)
        return true;
    c->count++;
    if (settings->json) {
        show_lock_json(c->look.client, s);
    } else if (settings->verbose) {
        show_lock(settings, s);
    } else {
        show_row(&c->table, s, "");
        c->some_disagree = c->some_disagree || s->disagree;
    }
    return true;
}

static void print_rest(struct status *c, const struct names *names)
{
    const struct settings *s = &c->look.settings;
    if (s->quiet)
        return;
    if (c->status == 0 && c->count == 0 && !s->json)
        message_line(c->look.count > 0 ? "no lock has such a name" : "no locks");
    if (c->some_disagree)
        message_warn(
            "the nodes disagree about locks marked with !; `redlock status NAME` shows each");
    names_warn(names);
    if (!s->json)
        show_quarantine(c->look.client);
}

static int show_all(void *data)
{
    struct status *c = data;
    struct names names;
    int failed, unwritten;
    show_rows_begin(&c->table);
    c->status = look_names(&c->look, &names);
    failed = look_at(&c->look, names.name, names.count, on_listed, c);
    if (failed == 0 && c->look.failed.error)
        failed = look_fail(&c->look, &c->look.failed);
    c->status = c->status ? c->status : failed;
    if (c->table.rows > 1 && !c->look.settings.quiet)
        table_print(&c->table, "", stdout);
    table_free(&c->table);
    print_rest(c, &names);
    names_free(&names);
    unwritten = message_flush();
    return c->status ? c->status : unwritten;
}

static int check(void *data)
{
    const struct status *c = data;
    return c->test && c->look.count == 0
               ? message_usage("NAME is missing: --held is about certain locks")
               : 0;
}

static int show(void *data)
{
    struct status *c = data;
    return c->look.count == 0 ? show_all(c) : show_named(c);
}

static int status_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {.check = check, .run = show};
    struct status c = {.test = false};
    return look_main(&c.look, command, argc, argv, &own);
}

static int list_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {.patterns = true, .run = show_all};
    struct status c = {.test = false};
    return look_main(&c.look, command, argc, argv, &own);
}

static const struct cli_option status_options[] = {
    SWITCH(0, "held", "exit with 0 only if every NAME is held, else with 1", struct status,
           test),
    SERVICE_OPTIONS,
    {0},
};

static const struct cli_option list_options[] = {SERVICE_OPTIONS, {0}};

const struct command command_status = {
    .name = "status",
    .summary = "show who holds a lock, for how long, and who waits",
    .usage = "[OPTION...] [NAME...]",
    .about =
        "Queries every node about each NAME: free or held, by whom (the label, or the start of "
        "the value; the owner; how many readers or slots), for how long, what the holder has "
        "left, the fencing token that a majority has reached, and how many wait. Node by node "
        "when they do not all agree, which is shown, or with -v, which also lists readers or "
        "slots and who waits; and which nodes are in quarantine, and what the nodes promise. "
        "Without NAME it shows all locks, as `redlock list` does. The answer is old when it "
        "arrives: never act on it, take the lock.\n\n"
        "Exits with 0 when a majority answered for every NAME, else with 69 or 77.\n",
    .examples = "redlock status\n"
                "redlock status backup deploy\n"
                "redlock status -q --held backup && echo 'a backup is running'",
    .options = status_options,
    .run = status_main,
};

const struct command command_list = {
    .name = "list",
    .alias = "ls",
    .summary = "show all locks that are there, a line each",
    .usage = "[OPTION...] [PATTERN...]",
    .about =
        "Shows every lock that any node has a key for, or those whose names match a PATTERN "
        "(with * ? and [...], as file names do in a shell; put it in quotes): who holds it, of "
        "which kind, for how long (FOR), what the holder has left (LEFT) and how many wait. "
        "With -v each is shown as by `redlock status -v`. At most 10,000 are shown. The nodes "
        "disagree about a lock that is marked with an exclamation mark.\n\n"
        "Exits with 0 when a majority answered, else with 69 or 77.\n",
    .examples = "redlock list\n"
                "redlock ls 'deploy-*'\n"
                "redlock list --json | jq -r 'select(.waiters > 0) | .name'",
    .options = list_options,
    .run = list_main,
};
