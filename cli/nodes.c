/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "exit.h"
#include "json.h"
#include "message.h"
#include "node_view.h"
#include "report.h"
#include "table.h"
#include "text.h"

/* How far its clock is from ours. */
static const char *clock_text(const struct node_view *v, char out[NODE_VIEW_TEXT_MAX])
{
    if (v->info.clock_error_us < 0 || v->info.state != REDLOCK_NODE_UP)
        return "-";
    snprintf(out, NODE_VIEW_TEXT_MAX, "%+.3f s", (double)v->info.clock_offset_us / 1e6);
    return out;
}

static void print_table(const struct settings *s, redlock *client, const redlock_report *report)
{
    static const char *const heading[] = {"NODE",     "STATE", "GUARD", "VERSION",
                                          "RTT",      "CLOCK", "TLS",   "NATIVE",
                                          "CONNECTS", "WHY",   NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < report->node_count; i++) {
        struct node_view v;
        char rtt[TEXT_TIME_MAX], connects[16], guard[NODE_VIEW_TEXT_MAX],
            clock[NODE_VIEW_TEXT_MAX];
        node_view_look(&v, client, report, i);
        text_rtt(rtt, v.rtt_us);
        snprintf(connects, sizeof connects, "%u", v.info.connects);
        table_row(&t);
        table_set(&t, 0, TABLE_PLAIN, report->node[i].address);
        table_set(&t, 1, v.answered ? TABLE_GOOD : TABLE_BAD, node_view_state(&v));
        table_set(&t, 2, v.info.quarantined ? TABLE_WAIT : TABLE_PLAIN,
                  node_view_guard(&v, s, guard));
        table_set(&t, 3, TABLE_PLAIN, v.info.version[0] ? v.info.version : "-");
        table_set(&t, 4, TABLE_PLAIN, rtt);
        table_set(&t, 5, TABLE_PLAIN, clock_text(&v, clock));
        table_set(&t, 6, TABLE_PLAIN, v.info.tls ? "yes" : "no");
        table_set(&t, 7, TABLE_PLAIN, v.info.native ? "yes" : "no");
        table_set(&t, 8, TABLE_PLAIN, connects);
        table_set(&t, 9, TABLE_PLAIN, v.why);
    }
    table_print(&t, "", stdout);
}

/* The members of one object: with a failure they follow its own. */
static void print_json(redlock *client, const redlock_report *report, int error,
                       const char *detail)
{
    struct json j = {.out = stdout};
    if (error == REDLOCK_OK)
        message_json_success(&j);
    else
        message_json_failure(&j, redlock_error_name(error), detail, exit_status_of(error));
    json_integer(&j, "quorum", report->quorum);
    json_array(&j, "nodes");
    for (uint32_t i = 0; i < report->node_count; i++) {
        struct node_view v;
        node_view_look(&v, client, report, i);
        json_object(&j, NULL);
        node_view_json(&v, &j);
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    json_finish(&j);
}

static int show(const struct settings *s, redlock *client)
{
    redlock_report report = {.size = sizeof report};
    int error = redlock_ping(client, &report);
    int status = exit_status_of(error);
    char detail[512];
    snprintf(detail, sizeof detail, "%s", error == REDLOCK_OK ? "" : redlock_detail());
    struct failure f = {
        .error = error,
        .status = status,
        .text = detail,
        .advice = error == REDLOCK_NOQUORUM
                      ? "bring back enough nodes for a majority, or correct --nodes"
                      : NULL,
    };
    if (s->json)
        print_json(client, &report, error, detail);
    else if (!s->quiet)
        print_table(s, client, &report);
    int unwritten = message_flush();
    if (error != REDLOCK_OK && !s->json)
        report_failure(s, &f);
    return status ? status : unwritten;
}

static int nodes_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct args a;
    redlock *client = NULL;
    const char *value;
    int id, status = 0;
    settings_init(&s);
    args_begin(&a, command, &s, argc, argv);
    while (status == 0 && (id = args_next(&a, &value)) != ARGS_END) {
        if (id == ARGS_STOP)
            status = a.status;
        else if (id == ARGS_WORD)
            status = message_usage("unexpected word; nodes are named with --nodes");
        if (a.stopped)
            break;
    }
    if (status || a.stopped)
        goto cleanup;
    status = settings_complete(&s);
    if (status == 0)
        status = client_open(&s, &client);
    if (status == 0)
        status = show(&s, client);
cleanup:
    redlock_close(client);
    settings_free(&s);
    return status;
}

static const struct option options[] = {{0}};

const struct command command_nodes = {
    .name = "nodes",
    .summary = "show the state of the nodes",
    .usage = "[OPTION...]",
    .about = "Asks every node for a sign of life and shows its state, whether it may vote "
             "or for how long it may not, version, round trip, how far its clock is from "
             "this machine's, whether the connection is encrypted and verified, whether "
             "the server can compare and delete without a script, how often it was "
             "connected to, and why it is down or in quarantine.\n\n"
             "Exits with 0 when a majority answered, else with 69 or 77.\n",
    .examples = "redlock nodes --nodes redis1,redis2,redis3",
    .options = options,
    .run = nodes_main,
};
