/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <string.h>

#include "base/quote.h"
#include "commands/inquiry.h"
#include "commands/list.h"
#include "commands/lock_view.h"
#include "report/node_view.h"
#include "settings/command.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_HELD = OPTION_OWN };

struct status {
    struct settings settings;
    struct source source;
    bool test; /* --held: the exit status says whether all are held */
    bool some_free;
    int name_count; /* 0: all locks on the nodes are shown */
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

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct status *c = data;
    if (a->error != REDLOCK_OK) {
        int failed = lock_view_failure(&c->settings, a);
        c->status = c->status ? c->status : failed;
        return true;
    }
    c->some_free = c->some_free || !a->info->held;
    if (c->settings.json)
        lock_view_json(c->source.client, a->name, a->info, a->report);
    else if (!c->settings.quiet)
        lock_view_text(&c->settings, a->name, a->info, a->report);
    if (!a->info->held && !c->settings.json && strpbrk(a->name, "*?["))
        hint_at_list(a->name);
    return true;
}

/* Moves the names to the front of argv. */
static int take(void *data, struct args *a, int id, const char *value)
{
    struct status *c = data;
    if (id == OPTION_HELD)
        c->test = true;
    if (id != ARGS_WORD)
        return 0;
    a->argv[c->name_count++] = a->argv[a->at - 1];
    return command_check_name(value);
}

static int show(struct status *c, char **names)
{
    if (c->name_count == 0)
        return list_locks(&c->settings, &c->source, NULL, 0);
    int failed = inquire(&c->source, &c->settings, names, (size_t)c->name_count, on_answer, c);
    c->status = c->status ? c->status : failed;
    if (!c->settings.json && !c->settings.quiet)
        lock_view_quarantine(c->source.client);
    redlock *member;
    bool tells = c->settings.verbose && c->source.client && !c->settings.json;
    for (size_t i = 0; tells && (member = redlock_member(c->source.client, i)); i++)
        guarantee_print(&c->settings, member, stdout);
    int status = c->status ? c->status : message_flush();
    return status == 0 && c->test && c->some_free ? EXIT_NOT_HELD : status;
}

static int status_main(const struct command *command, int argc, char **argv)
{
    struct status c = {.test = false};
    int status = args_read(command, &c.settings, argc, argv, take, &c);
    if (status == 0 && c.test && c.name_count == 0)
        status = message_usage("NAME is missing: --held is about certain locks");
    if (status == 0)
        status = settings_complete(&c.settings);
    if (status == 0)
        status = source_open(&c.source, &c.settings);
    if (status == 0)
        status = show(&c, argv);
    source_close(&c.source, &c.settings);
    settings_free(&c.settings);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_HELD, 0, "held", NULL, "exit with 0 only if every NAME is held, else with 1"},
    SERVICE_OPTIONS,
    {0},
};

const struct command command_status = {
    .name = "status",
    .summary = "say who holds a lock, for how long, and who waits",
    .usage = "[OPTION...] [NAME...]",
    .about =
        "Asks every node about each NAME: free or held, by whom (the label, or the start of "
        "the "
        "value; the owner; how many readers or slots), for how long, what the holder has "
        "left, the "
        "fencing token that a majority has reached, and how many wait. Node by node when they "
        "do "
        "not all agree, which is said, or with -v, which also lists readers or slots and who "
        "waits; "
        "and which nodes are in quarantine, and what the nodes promise. Without NAME it shows "
        "all locks, as `redlock list` does. The answer is "
        "old when it arrives: never act on it, take the lock.\n\n"
        "Exits with 0 when a majority answered for every NAME, else with 69 or 77.\n",
    .examples = "redlock status\n"
                "redlock status backup deploy\n"
                "redlock status -q --held backup && echo 'a backup is running'",
    .options = options,
    .run = status_main,
};
