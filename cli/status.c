/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "exit.h"
#include "json.h"
#include "message.h"
#include "report.h"
#include "text.h"

enum { OPTION_HELD = OPTION_OWN };

struct status {
    struct settings settings;
    redlock *client;
    bool test; /* --held: the exit status says whether all are held */
    bool some_free;
    struct json json;
};

/* Everybody agrees when each node that answered has found the same. */
static bool nodes_agree(const redlock_report *report)
{
    const redlock_node_report *first = NULL;
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        if (n->vote != REDLOCK_VOTE_HELD && n->vote != REDLOCK_VOTE_MISSING &&
            n->vote != REDLOCK_VOTE_GRANTED)
            return false;
        if (first && strcmp(first->holder, n->holder) != 0)
            return false;
        first = n;
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

/* Whose grants do not count: part of the answer to "can it be locked?". */
static void print_quarantine(const struct status *c)
{
    redlock_node_info info = {.size = sizeof info};
    for (size_t i = 0; next_quarantined(c, &i, &info);)
        printf("in quarantine: %s (%s)\n", info.address, info.text);
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

static void print_text(const struct status *c, const char *name, const redlock_info *info,
                       const redlock_report *report)
{
    char shown[2 * REDLOCK_NAME_MAX], holder[TEXT_HOLDER_MAX], left[TEXT_TIME_MAX];
    char fence[40] = "";
    text_safe(shown, sizeof shown, name);
    text_holder(holder, info->holder);
    text_time(left, info->ttl_ms);
    if (info->fence > 0)
        snprintf(fence, sizeof fence, ", fence %lld", (long long)info->fence);
    if (info->held && info->ttl_ms >= 0)
        printf("%s: held by %s, %s left, %d/%u votes%s\n", shown, holder, left, info->votes,
               report->node_count, fence);
    else if (info->held)
        printf("%s: held by %s, without expiry, %d/%u votes%s\n", shown, holder, info->votes,
               report->node_count, fence);
    else
        printf("%s: free, %d/%u votes%s\n", shown, info->votes, report->node_count, fence);
    if (c->settings.verbose || !nodes_agree(report))
        report_table(report, stdout);
}

static void print_json(struct status *c, const char *name, const redlock_info *info,
                       const redlock_report *report)
{
    struct json *j = &c->json;
    char holder[TEXT_HOLDER_MAX];
    text_holder(holder, info->holder);
    message_json_success(j);
    json_string(j, "name", name);
    json_bool(j, "held", info->held);
    json_integer(j, "votes", info->votes);
    json_string(j, "holder", info->holder[0] ? holder : NULL);
    json_known(j, "ttl_ms", info->ttl_ms);
    json_known(j, "fence", info->fence > 0 ? info->fence : -1);
    report_json(report, j);
    json_quarantine(c, j);
    json_end_object(j);
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
    c->some_free = c->some_free || !info.held;
    if (c->settings.json)
        print_json(c, name, &info, &report);
    else if (!c->settings.quiet)
        print_text(c, name, &info, &report);
    return 0;
}

/* Reads the options and moves the names to the front of argv; *count is how many. */
static int read_options(struct status *c, struct args *a, int *count)
{
    const char *value;
    int id, status;
    while ((id = args_next(a, &value)) != ARGS_END) {
        if (id == ARGS_STOP)
            return a->status;
        if (id == OPTION_HELD)
            c->test = true;
        if (id != ARGS_WORD)
            continue;
        status = command_check_name(value);
        if (status)
            return status;
        a->argv[(*count)++] = a->argv[a->at - 1];
    }
    return *count > 0 ? 0 : message_usage("NAME is missing: which lock?");
}

static int status_main(const struct command *command, int argc, char **argv)
{
    struct status c = {.json = {.out = stdout}};
    struct args a;
    int count = 0;
    settings_init(&c.settings);
    args_begin(&a, command, &c.settings, argc, argv);
    int status = read_options(&c, &a, &count);
    if (status || a.stopped)
        goto cleanup;
    status = settings_complete(&c.settings);
    if (status == 0)
        status = client_open(&c.settings, &c.client);
    if (status)
        goto cleanup;
    for (int i = 0; i < count; i++) {
        int failed = ask(&c, argv[i]);
        status = status ? status : failed;
    }
    if (!c.settings.json && !c.settings.quiet)
        print_quarantine(&c);
    if (status == 0)
        status = message_flush();
    if (status == 0 && c.test && c.some_free)
        status = EXIT_NOT_HELD;
cleanup:
    redlock_close(c.client);
    settings_free(&c.settings);
    return status;
}

static const struct option options[] = {
    {OPTION_HELD, 0, "held", NULL, "exit with 0 only if every NAME is held, else with 1"},
    {0},
};

const struct command command_status = {
    .name = "status",
    .summary = "say who holds a lock, and for how long",
    .usage = "[OPTION...] NAME...",
    .about =
        "Asks every node about each NAME: free or held, by how many nodes' votes, by "
        "whom (the start of the value), for how long, and the fencing token that a "
        "majority has reached. Node by node when they do not all agree, or with -v; and "
        "which nodes are in quarantine. The answer is old when it arrives: never act on it, take the lock.\n\n"
        "Exits with 0 when a majority answered for every NAME, else with 69 or 77.\n",
    .examples = "redlock status backup deploy\n"
                "redlock status -q --held backup && echo 'a backup is running'",
    .options = options,
    .run = status_main,
};
