/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands/inquiry.h"
#include "commands/lock_view.h"
#include "report/lock_rows.h"
#include "report/report.h"
#include "settings/command.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

/* One lock of the table. */
struct found {
    const char *name;
    struct lock_brief brief;
};

struct list {
    const struct settings *settings;
    struct source *source;
    char *const *pattern;
    size_t pattern_count;
    struct found *found; /* owned */
    size_t count;
    bool out_of_memory;
    int status;
};

static bool matches(const char *name, void *data)
{
    const struct list *l = data;
    return names_match(name, l->pattern, l->pattern_count);
}

static bool keep(struct list *l, const char *name, const redlock_info *info,
                 const redlock_report *report)
{
    struct found *more = reallocarray(l->found, l->count + 1, sizeof *more);
    l->out_of_memory = !more;
    if (!more)
        return false;
    l->found = more;
    more[l->count].name = name;
    l->out_of_memory =
        !lock_brief_copy(&more[l->count].brief, name, info, report_longest_ms(info, report));
    l->count += !l->out_of_memory;
    return !l->out_of_memory;
}

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct list *l = data;
    if (a->error != REDLOCK_OK) {
        l->status = lock_view_failure(l->settings, a);
        return false;
    }
    /* What was listed may be gone by now. */
    if (a->info->holder.votes == 0 && a->info->waiter_count == 0)
        return true;
    if (!l->settings->json && !l->settings->verbose)
        return keep(l, a->name, a->info, a->report);
    if (l->settings->json)
        lock_view_json(l->source->client, a->name, a->info, a->report);
    else
        lock_view_text(l->settings, a->name, a->info, a->report);
    l->count++;
    return true;
}

static void print_line(const char *line, enum text_colour colour, bool coloured)
{
    coloured = coloured && colour != TEXT_PLAIN;
    printf("%s%s%s\n", coloured ? text_colour_code(colour) : "", line,
           coloured ? text_colour_code(TEXT_PLAIN) : "");
}

static void print_table(const struct list *l)
{
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    char line[LOCK_ROWS_LINE_MAX];
    struct lock_rows rows;
    lock_rows_begin(&rows, false);
    for (size_t i = 0; i < l->count; i++) {
        const struct found *f = &l->found[i];
        lock_rows_measure(&rows, &(struct lock_row){f->name, &f->brief, NULL});
    }
    lock_rows_fit(&rows, text_line_columns(STDOUT_FILENO));
    lock_rows_heading(&rows, line);
    print_line(line, TEXT_PLAIN, false);
    for (size_t i = 0; i < l->count; i++) {
        const struct found *f = &l->found[i];
        lock_rows_line(&rows, &(struct lock_row){f->name, &f->brief, NULL}, line);
        print_line(line, lock_rows_colour(&f->brief), coloured);
    }
}

static void print_rest(const struct list *l, const struct names *names)
{
    const struct settings *s = l->settings;
    bool disagree = false;
    if (s->quiet)
        return;
    if (l->status == 0 && l->count == 0 && !s->json)
        message_line(l->pattern_count > 0 ? "no lock has such a name" : "no locks");
    for (size_t i = 0; l->found && i < l->count; i++)
        disagree = disagree || l->found[i].brief.disagree;
    if (disagree)
        message_warn(
            "the nodes disagree about locks marked with !; `redlock status NAME` shows "
            "each");
    names_warn(names);
    if (!s->json)
        lock_view_quarantine(l->source->client);
}

int list_locks(const struct settings *s, struct source *source, char *const *pattern,
               size_t count)
{
    struct list l = {
        .settings = s, .source = source, .pattern = pattern, .pattern_count = count};
    struct names names;
    int status = names_list(&names, source, s, matches, &l);
    int failed = inquire(source, s, names.name, names.count, on_answer, &l);
    status = status ? status : failed;
    if (l.out_of_memory)
        l.status = message_fail(EXIT_INTERNAL, "out of memory");
    l.status = status ? status : l.status;
    if (l.found && !s->quiet)
        print_table(&l);
    print_rest(&l, &names);
    for (size_t i = 0; l.found && i < l.count; i++)
        lock_brief_free(&l.found[i].brief);
    free(l.found);
    names_free(&names);
    status = message_flush();
    return l.status ? l.status : status;
}

/* ---- the subcommand ---- */

struct list_options {
    struct settings settings;
    size_t pattern_count;
};

/* Moves the patterns to the front of argv. */
static int take(void *data, struct args *a, int id, const char *value)
{
    struct list_options *o = data;
    (void)value;
    if (id == ARGS_WORD)
        a->argv[o->pattern_count++] = a->argv[a->at - 1];
    return 0;
}

static int list_main(const struct command *command, int argc, char **argv)
{
    struct list_options o = {.pattern_count = 0};
    struct source source = {0};
    int status = args_read(command, &o.settings, argc, argv, take, &o);
    if (status == 0)
        status = settings_complete(&o.settings);
    if (status == 0)
        status = source_open(&source, &o.settings);
    if (status == 0)
        status = list_locks(&o.settings, &source, argv, o.pattern_count);
    source_close(&source, &o.settings);
    settings_free(&o.settings);
    return status;
}

static const struct cli_option options[] = {SERVICE_OPTIONS, {0}};

const struct command command_list = {
    .name = "list",
    .alias = "ls",
    .summary = "show all locks that are there, a line each",
    .usage = "[OPTION...] [PATTERN...]",
    .about =
        "Shows every lock that any node has a key for, or those whose names match a PATTERN "
        "(with * ? and [...], as file names do in a shell; put it in quotes): who holds it, "
        "of which "
        "kind, for how long (FOR), what the holder has left (LEFT) and how many wait. With -v "
        "each is shown as by `redlock status -v`. At most 10,000 are shown. The nodes "
        "disagree about a lock that "
        "is marked with an exclamation mark.\n\n"
        "Exits with 0 when a majority answered, else with 69 or 77.\n",
    .examples = "redlock list\n"
                "redlock ls 'deploy-*'\n"
                "redlock list --json | jq -r 'select(.waiters > 0) | .name'",
    .options = options,
    .run = list_main,
};
