/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_HELD = OPTION_OWN };

struct status {
    struct settings settings;
    redlock *client;
    bool test; /* --held: the exit status says whether all are held */
    bool some_free;
    int name_count; /* 0: all locks on the nodes are shown */
    size_t shown_count;
    struct json json;
};

static bool all_answered(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        int vote = report->node[i].vote;
        if (vote != REDLOCK_VOTE_HELD && vote != REDLOCK_VOTE_MISSING)
            return false;
    }
    return true;
}

/* The next node from *at on that is in quarantine; false when there is none left. */
static bool next_quarantined(const struct status *c, size_t *at, redlock_node_info *info)
{
    while (redlock_node(c->client, (*at)++, info) == REDLOCK_OK)
        if (info->quarantined)
            return true;
    return false;
}

/* Grants of these nodes do not count: part of the answer to "can it be locked?". */
static void print_quarantine(const struct status *c)
{
    redlock_node_info info = {.size = sizeof info};
    char address[REDLOCK_ADDRESS_MAX];
    for (size_t i = 0; next_quarantined(c, &i, &info);) {
        text_safe(address, sizeof address, info.address);
        printf("in quarantine: %s (%s)\n", address, info.text);
    }
}

static void json_quarantine(const struct status *c, struct json *j)
{
    redlock_node_info info = {.size = sizeof info};
    json_array(j, "quarantine");
    for (size_t i = 0; next_quarantined(c, &i, &info);) {
        json_object(j, NULL);
        json_string(j, "address", info.address);
        json_string(j, "text", info.text);
        json_known(j, "left_ms", info.quarantine_ms);
        json_end_object(j);
    }
    json_end_array(j);
}

/* "held by 1a2b3c4d..., owner deploy, 2 times", "held by 3 readers", "2 of 4 slots taken" */
static void describe_holders(const redlock_info *info, char *out, size_t size)
{
    char holder[TEXT_HOLDER_MAX], owner[TEXT_OWNER_MAX];
    text_holder(holder, info->holder);
    text_owner(owner, info->owner);
    int used = 0;
    if (kind_words(info->kind)->has_slots)
        snprintf(out, size, "%u of %u slots taken", info->holder_count, info->slots);
    else if (kind_words(info->kind)->holders)
        snprintf(out, size, "held by %u %s%s", info->holder_count,
                 kind_words(info->kind)->holders, info->holder_count == 1 ? "" : "s");
    else
        used = snprintf(out, size, "held by %s%s%s", holder, info->owner[0] ? ", owner " : "",
                        owner);
    if (used > 0 && (size_t)used < size && info->holder_count > 1)
        snprintf(out + used, size - (size_t)used, ", %u times", info->holder_count);
}

static void print_text(const struct status *c, const char *name, const redlock_info *info,
                       const redlock_report *report)
{
    char shown[2 * REDLOCK_NAME_MAX], holders[128], left[TEXT_TIME_MAX];
    int64_t left_ms = report_longest_ms(info, report);
    text_safe(shown, sizeof shown, name);
    describe_holders(info, holders, sizeof holders);
    text_time(left, left_ms);
    if (info->held && left_ms >= 0)
        printf("%s: %s, %s left, ", shown, holders, left);
    else if (info->held)
        printf("%s: %s, without expiry, ", shown, holders);
    else
        printf("%s: free, ", shown);
    printf("%d/%u votes", info->votes, report->node_count);
    if (report->quorum_name[0])
        printf(" of quorum %s", report->quorum_name);
    if (info->fence > 0)
        printf(", fence %lld", (long long)info->fence);
    if (info->waiters > 0) {
        text_holder(holders, info->head);
        printf(", %u waiting (first: %s)", info->waiters, holders);
    }
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    if (info->disagree)
        printf(", %snodes disagree%s", coloured ? text_colour_code(TEXT_BAD) : "",
               coloured ? text_colour_code(TEXT_PLAIN) : "");
    putchar('\n');
    if (c->settings.verbose || info->disagree || !all_answered(report))
        report_table(report, stdout);
}

static void print_json(struct status *c, const char *name, const redlock_info *info,
                       const redlock_report *report)
{
    struct json *j = &c->json;
    char holder[TEXT_HOLDER_MAX], head[TEXT_HOLDER_MAX], owner[TEXT_OWNER_MAX];
    text_holder(holder, info->holder);
    text_holder(head, info->head);
    text_owner(owner, info->owner);
    message_json_success(j);
    json_string(j, "name", name);
    json_bool(j, "held", info->held);
    json_string(j, "kind", info->kind < 0 ? NULL : redlock_kind_text(info->kind));
    json_integer(j, "votes", info->votes);
    json_string(j, "holder", info->holder[0] ? holder : NULL);
    json_integer(j, "holders", info->holder_count);
    json_string(j, "owner", info->owner[0] ? owner : NULL);
    json_known(j, "slots", kind_words(info->kind)->has_slots ? (int64_t)info->slots : -1);
    json_known(j, "ttl_ms", report_longest_ms(info, report));
    json_known(j, "fence", info->fence > 0 ? info->fence : -1);
    json_integer(j, "waiters", info->waiters);
    json_string(j, "head", info->head[0] ? head : NULL);
    json_bool(j, "disagree", info->disagree);
    report_json_found(report, j);
    json_quarantine(c, j);
    json_finish(j);
}

/* One name. Returns 0 or an exit status, after reporting. */
static int ask(struct status *c, const char *name)
{
    redlock_info info = {.size = sizeof info};
    redlock_report report = {.size = sizeof report};
    int error = redlock_query(c->client, name, &info, &report);
    if (error != REDLOCK_OK) {
        char detail[512];
        snprintf(detail, sizeof detail, "%s", redlock_detail());
        struct failure f = {
            .name = name,
            .error = error,
            .status = exit_status_of(error),
            .text = detail,
            .report = &report,
        };
        return report_failure(&c->settings, &f);
    }
    /* What was listed may be gone by now. */
    if (c->name_count == 0 && info.votes == 0 && info.waiters == 0)
        return 0;
    c->shown_count++;
    c->some_free = c->some_free || !info.held;
    if (c->settings.json)
        print_json(c, name, &info, &report);
    else if (!c->settings.quiet)
        print_text(c, name, &info, &report);
    return 0;
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

/* ---- without a NAME ---- */

/* The names are gathered first: the nodes cannot be asked while they are listed. */
struct names {
    redlock *client;
    int quorum; /* which is being listed */
    char **name;
    size_t count;
    size_t misplaced; /* that do not live where they were found */
    bool out_of_memory;
};

static void keep_name(const char *name, void *data)
{
    struct names *n = data;
    if (redlock_quorum_of(n->client, name) != n->quorum) {
        n->misplaced++;
        return;
    }
    char *copy = strdup(name);
    char **more = copy ? reallocarray(n->name, n->count + 1, sizeof *more) : NULL;
    if (!more) {
        free(copy);
        n->out_of_memory = true;
        return;
    }
    n->name = more;
    n->name[n->count++] = copy;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of every quorum that answers, in order. One that does not hides only its own. */
static int list(struct status *c, struct names *names)
{
    redlock *member;
    int status = 0;
    for (size_t i = 0; (member = redlock_member(c->client, i)); i++) {
        struct names found = {.client = c->client,
                              .quorum = (int)i,
                              .name = names->name,
                              .count = names->count,
                              .misplaced = names->misplaced};
        int error = redlock_list(member, keep_name, &found);
        *names = found;
        if (error == REDLOCK_OK)
            continue;
        struct failure f = {
            .error = error, .status = exit_status_of(error), .text = redlock_detail()};
        int failed = report_failure(&c->settings, &f);
        status = status ? status : failed;
    }
    if (names->out_of_memory)
        return message_fail(EXIT_INTERNAL, "out of memory");
    if (names->count > 0)
        qsort(names->name, names->count, sizeof *names->name, compare_names);
    return status;
}

static int ask_all(struct status *c)
{
    struct names names = {0};
    int status = list(c, &names);
    int failed = 0;
    for (size_t i = 0; i < names.count && !names.out_of_memory && failed == 0; i++)
        failed = ask(c, names.name[i]);
    status = status ? status : failed;
    if (status == 0 && c->shown_count == 0 && !c->settings.json && !c->settings.quiet)
        message_line("no locks");
    if (names.misplaced > 0 && !c->settings.quiet)
        message_warn("%zu lock%s in a quorum where %s not live: another client has a different "
                     "set of quorums; `redlock doctor` says more",
                     names.misplaced, names.misplaced == 1 ? " is" : "s are",
                     names.misplaced == 1 ? "it does" : "they do");
    if (names.count >= REDLOCK_LIST_MAX && !c->settings.quiet)
        message_warn("there may be more: only the first %d names found are shown",
                     REDLOCK_LIST_MAX);
    for (size_t i = 0; i < names.count; i++)
        free(names.name[i]);
    free(names.name);
    return status;
}

static int show(struct status *c, char **names)
{
    int status = c->name_count == 0 ? ask_all(c) : 0;
    for (int i = 0; i < c->name_count; i++) {
        int failed = ask(c, names[i]);
        status = status ? status : failed;
    }
    if (!c->settings.json && !c->settings.quiet)
        print_quarantine(c);
    if (status == 0)
        status = message_flush();
    return status == 0 && c->test && c->some_free ? EXIT_NOT_HELD : status;
}

static int status_main(const struct command *command, int argc, char **argv)
{
    struct status c = {.json = {.out = stdout}};
    int status = args_read(command, &c.settings, argc, argv, take, &c);
    if (status == 0 && c.test && c.name_count == 0)
        status = message_usage("NAME is missing: --held is about certain locks");
    if (status == 0)
        status = settings_complete(&c.settings);
    if (status == 0)
        status = client_open(&c.settings, &c.client);
    if (status == 0)
        status = show(&c, argv);
    redlock_close(c.client);
    settings_free(&c.settings);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_HELD, 0, "held", NULL, "exit with 0 only if every NAME is held, else with 1"},
    {0},
};

const struct command command_status = {
    .name = "status",
    .summary = "say who holds a lock, and for how long",
    .usage = "[OPTION...] [NAME...]",
    .about =
        "Asks every node about each NAME, or about every lock that is there: free or held, of "
        "which kind, by how many nodes' votes, by whom (the start of the value, the owner, how "
        "many), for how long, the fencing token that a majority has reached, and how many wait. "
        "Node by node when they do not all agree, which is said, or with -v; and which nodes are "
        "in quarantine. The answer is old when it arrives: never act on it, take the lock.\n\n"
        "Exits with 0 when a majority answered for every NAME, else with 69 or 77.\n",
    .examples = "redlock status\n"
                "redlock status backup deploy\n"
                "redlock status -q --held backup && echo 'a backup is running'",
    .options = options,
    .run = status_main,
};
