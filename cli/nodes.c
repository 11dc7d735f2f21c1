/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "exit.h"
#include "json.h"
#include "message.h"
#include "report.h"
#include "table.h"
#include "text.h"

#define GUARD_MAX 48

/* What is known of one node: its connection, and its answer to the ping. */
struct view {
    redlock_node_info info;
    const redlock_node_report *ping;
    int32_t rtt_us;
    const char *why; /* nothing to say: empty */
    bool answered;
};

static const char *state_name(const struct view *v)
{
    static const char *const names[] = {
#define STATE_NAME(name, text) text,
        REDLOCK_NODE_STATES(STATE_NAME)
#undef STATE_NAME
    };
    int32_t state = v->info.state;
    if (state == REDLOCK_NODE_UP && !v->answered)
        return redlock_vote_text(v->ping->vote);
    /* The next try is under way, but what matters is how the last one ended. */
    if (v->ping->vote == REDLOCK_VOTE_REFUSED || v->ping->vote == REDLOCK_VOTE_UNREACHABLE)
        state = REDLOCK_NODE_DOWN;
    return state >= 0 && (size_t)state < sizeof names / sizeof names[0] ? names[state]
                                                                        : "unknown";
}

/* May its grants be counted? */
static const char *guard_text(const struct view *v, const struct settings *s,
                              char out[GUARD_MAX])
{
    char left[TEXT_TIME_MAX];
    if (s->guard == GUARD_OFF)
        return "off";
    if (v->info.state != REDLOCK_NODE_UP)
        return "-";
    if (!v->info.quarantined)
        return "votes";
    if (v->info.quarantine_ms < 0)
        return "quarantine";
    text_time(left, (v->info.quarantine_ms + 999) / 1000 * 1000);
    snprintf(out, GUARD_MAX, "quarantine, %s", left);
    return out;
}

/* How far its clock is from ours. */
static const char *clock_text(const struct view *v, char out[GUARD_MAX])
{
    if (v->info.clock_error_us < 0 || v->info.state != REDLOCK_NODE_UP)
        return "-";
    snprintf(out, GUARD_MAX, "%+.3f s", (double)v->info.clock_offset_us / 1e6);
    return out;
}

static void look(redlock *client, const redlock_report *report, uint32_t index, struct view *v)
{
    *v = (struct view){.info.size = sizeof v->info, .ping = &report->node[index]};
    if (redlock_node(client, index, &v->info) != REDLOCK_OK)
        v->info.rtt_us = v->info.clock_error_us = -1;
    v->answered = v->ping->vote == REDLOCK_VOTE_GRANTED;
    v->rtt_us = report_is_answer(v->ping->vote) ? v->ping->rtt_us : -1;
    v->why = v->ping->text[0] ? v->ping->text : v->info.text;
    if (!*v->why && !v->answered)
        v->why = redlock_vote_text(v->ping->vote);
}

static void print_table(const struct settings *s, redlock *client, const redlock_report *report)
{
    static const char *const heading[] = {"NODE",     "STATE", "GUARD", "VERSION",
                                          "RTT",      "CLOCK", "TLS",   "NATIVE",
                                          "CONNECTS", "WHY",   NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < report->node_count; i++) {
        struct view v;
        char rtt[TEXT_TIME_MAX], connects[16], guard[GUARD_MAX], clock[GUARD_MAX];
        look(client, report, i, &v);
        text_rtt(rtt, v.rtt_us);
        snprintf(connects, sizeof connects, "%u", v.info.connects);
        table_row(&t);
        table_set(&t, 0, TABLE_PLAIN, report->node[i].address);
        table_set(&t, 1, v.answered ? TABLE_GOOD : TABLE_BAD, state_name(&v));
        table_set(&t, 2, v.info.quarantined ? TABLE_WAIT : TABLE_PLAIN,
                  guard_text(&v, s, guard));
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

/* An offset may be negative: it is unknown by its error only. */
static void print_json_clock(struct json *j, const struct view *v)
{
    json_known(j, "clock_error_us", v->info.clock_error_us);
    if (v->info.clock_error_us >= 0)
        json_integer(j, "clock_offset_us", v->info.clock_offset_us);
    else
        json_known(j, "clock_offset_us", -1);
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
        struct view v;
        look(client, report, i, &v);
        json_object(&j, NULL);
        json_string(&j, "address", report->node[i].address);
        json_string(&j, "state", state_name(&v));
        json_bool(&j, "answered", v.answered);
        json_bool(&j, "quarantined", v.info.quarantined);
        json_known(&j, "quarantine_ms", v.info.quarantined ? v.info.quarantine_ms : -1);
        json_string(&j, "version", v.info.version[0] ? v.info.version : NULL);
        json_known(&j, "rtt_us", v.rtt_us);
        print_json_clock(&j, &v);
        json_bool(&j, "tls", v.info.tls);
        json_bool(&j, "native", v.info.native);
        json_integer(&j, "connects", v.info.connects);
        json_string(&j, "why", v.why);
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
