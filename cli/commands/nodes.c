/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/advice.h"
#include "report/nodes.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_WHERE = OPTION_OWN };

#define LATE_NS (1000 * RL_NS_PER_MS) /* how long silent nodes are tried again */
#define NAMES_MAX 64

/* What one quorum answered. */
struct answer {
    redlock *member;
    redlock_report report;
    int error;
    char detail[512];
};

/* A majority may name the master while a sentinel is away: that is worth knowing early. */
static void print_groups(const struct settings *s, redlock *member)
{
    redlock_node_info node = REDLOCK_NODE_INFO();
    for (size_t i = 0; redlock_node(member, i, &node) == REDLOCK_OK; i++) {
        if (guarantee_is_elected(&node) &&
            (s->verbose || node.voucher_count < node.elector_count))
            sentinels_print(&node, stdout);
    }
}

static void print_quorum(const struct settings *s, const struct answer *a, bool first)
{
    const redlock_report *report = &a->report;
    uint32_t answered = nodes_answered(report);
    struct table t;
    if (report->quorum_name[0])
        printf("%squorum %s: %u of %u node%s answer%s, %u needed%s\n", first ? "" : "\n",
               report->quorum_name, answered, report->node_count,
               report->node_count == 1 ? "" : "s", answered == 1 ? "s" : "", report->quorum,
               a->error ? "; its locks cannot be taken" : "");
    nodes_begin(&t);
    nodes_rows(&t, s, a->member, report, false);
    table_print(&t, "", stdout);
    print_groups(s, a->member);
    guarantee_print(s, a->member, stdout);
}

static void json_nodes(const struct settings *s, const struct answer *a, struct rl_json *j)
{
    struct guarantee g = guarantee_of(a->member);
    rl_json_integer(j, "quorum", a->report.quorum);
    rl_json_array(j, "nodes");
    nodes_json(a->member, &a->report, false, j);
    rl_json_end_array(j);
    guarantee_json(&g, s->config.guard != REDLOCK_NO_GUARD, j);
}

static void json_quorum(const struct settings *s, const struct answer *a, struct rl_json *j)
{
    rl_json_object(j, NULL);
    rl_json_string(j, "name", a->report.quorum_name);
    rl_json_bool(j, "available", a->error == REDLOCK_OK);
    rl_json_string(j, "text", a->error == REDLOCK_OK ? NULL : a->detail);
    rl_json_integer(j, "answered", nodes_answered(&a->report));
    json_nodes(s, a, j);
    rl_json_end_object(j);
}

/* The members of one object: with a failure they follow its own. */
static void print_json(const struct settings *s, const struct answer *answers, size_t count,
                       const struct answer *failed)
{
    struct rl_json j = {.out = stdout};
    message_json(&j, failed ? failed->error : REDLOCK_OK, failed ? failed->detail : NULL);
    rl_json_string(&j, "nodes_from", s->config.source);
    if (answers[0].report.quorum_name[0]) {
        rl_json_array(&j, "quorums");
        for (size_t i = 0; i < count; i++)
            json_quorum(s, &answers[i], &j);
        rl_json_end_array(&j);
    } else {
        json_nodes(s, &answers[0], &j);
    }
    rl_json_finish(&j);
}

static int report_answers(const struct settings *s, const struct answer *answers, size_t count)
{
    const struct answer *failed = NULL;
    int unwritten;
    for (size_t i = 0; i < count && !failed; i++)
        failed = answers[i].error ? &answers[i] : NULL;
    if (s->json)
        print_json(s, answers, count, failed);
    if (!s->json && s->verbose)
        printf("nodes named by %s\n", s->config.source);
    for (size_t i = 0; i < count && !s->json && !s->quiet; i++)
        print_quorum(s, &answers[i], i == 0);
    unwritten = message_flush();
    for (size_t i = 0; i < count && !s->json; i++) {
        const struct answer *a = &answers[i];
        char room[ADVICE_MAX];
        struct failure f = {.error = a->error, .text = a->detail};
        f.advice = advice_for(a->error, &a->report, false, room);
        if (a->error == REDLOCK_NOQUORUM && !advice_for_late_nodes(&a->report, room) &&
            !advice_by_reason(&a->report, false))
            f.advice = "bring back enough nodes for a majority, or correct --nodes";
        if (a->error != REDLOCK_OK)
            report_failure(s, &f);
    }
    return failed ? exit_status_of(failed->error) : unwritten;
}

/* An answer that was only late comes while the nodes are tried again: then it is
 * reported as late. */
static bool has_silent(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        if (n->vote == REDLOCK_VOTE_SILENT && n->rtt_us < 0 && !n->text[0])
            return true;
    }
    return false;
}

/* The server may answer before all sentinels are connected to. */
static bool has_unheard(redlock *member)
{
    redlock_node_info node = REDLOCK_NODE_INFO();
    bool unheard = false;
    for (size_t i = 0; !unheard && redlock_node(member, i, &node) == REDLOCK_OK; i++) {
        for (uint32_t k = 0; k < node.elector_count; k++)
            unheard = unheard || (!node.elector[k].server[0] && !node.elector[k].reason);
        /* Since when it is the master stands on it, and is requested after the greeting. */
        unheard = unheard || (node.quarantined && node.quarantine_ms < 0 &&
                              node.reason == REDLOCK_REASON_NEW_TERM);
        /* With the list of the set, others than those that named the server first decide. */
        unheard = unheard || (node.server[0] && node.state != REDLOCK_NODE_UP &&
                              node.reason == REDLOCK_REASON_NO_TERM);
    }
    return unheard;
}

static int show(const struct settings *s, redlock *client)
{
    struct answer *answers = calloc(REDLOCK_QUORUMS_MAX, sizeof *answers);
    redlock *member;
    size_t count = 0;
    int status;
    if (!answers)
        return message_fail(EXIT_INTERNAL, "out of memory");
    while ((member = redlock_member(client, count))) {
        struct answer *a;
        int64_t end_ns;
        a = &answers[count++];
        a->member = member;
        end_ns = timer_now_ns() + LATE_NS;
        do {
            a->error = client_ping(member, &a->report);
            snprintf(a->detail, sizeof a->detail, "%s", a->error ? redlock_detail() : "");
        } while ((has_silent(&a->report) || has_unheard(member)) && timer_now_ns() < end_ns);
    }
    status = report_answers(s, answers, count);
    free(answers);
    return status;
}

static void join_addresses(redlock *member, char *out, size_t size)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    char address[REDLOCK_ADDRESS_MAX];
    out[0] = '\0';
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        rl_quote_safe(address, sizeof address, info.address);
        text_add(out, size, "%s%s", i ? "," : "", address);
    }
}

static void json_home(redlock *member, const char *name, const char *quorum, struct rl_json *j)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    rl_json_object(j, NULL);
    rl_json_string(j, "name", name);
    rl_json_string(j, "quorum_name", *quorum ? quorum : NULL);
    rl_json_array(j, "nodes");
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++)
        rl_json_string(j, NULL, info.address);
    rl_json_end_array(j);
    rl_json_end_object(j);
}

/* Needs no node: the names of the quorums and of the lock decide. */
static int show_homes(const struct settings *s, redlock *client, const char *const *names,
                      int count)
{
    struct rl_json j = {.out = stdout};
    if (s->json) {
        message_json_success(&j);
        rl_json_array(&j, "names");
    }
    for (int i = 0; i < count; i++) {
        char shown[2 * REDLOCK_NAME_MAX], addresses[REDLOCK_NODES_MAX * REDLOCK_ADDRESS_MAX];
        redlock_node_info info = REDLOCK_NODE_INFO();
        int home = redlock_quorum_of(client, names[i]);
        redlock *member;
        if (home < 0)
            return client_fail(home);
        member = redlock_member(client, (size_t)home);
        redlock_node(member, 0, &info);
        join_addresses(member, addresses, sizeof addresses);
        rl_quote_safe(shown, sizeof shown, names[i]);
        if (s->json)
            json_home(member, names[i], info.quorum_name, &j);
        else
            printf("%s: %s%s\n", shown, info.quorum_name[0] ? "quorum " : "all nodes",
                   info.quorum_name);
        if (!s->json && s->verbose)
            printf("  %s\n", addresses);
    }
    if (s->json) {
        rl_json_end_array(&j);
        rl_json_finish(&j);
    }
    return message_flush();
}

/* The arguments of --where. */
struct names {
    const char *name[NAMES_MAX];
    int count;
};

static int take(void *data, struct args *a, int id, const char *value)
{
    struct names *n = data;
    (void)a;
    if (id == ARGS_WORD)
        return message_usage("unexpected word; nodes are named with --nodes");
    if (id != OPTION_WHERE)
        return 0;
    if (n->count == NAMES_MAX)
        return message_usage("--where can be given %d times at most", NAMES_MAX);
    return command_check_name(n->name[n->count++] = value);
}

static int nodes_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct names names = {.count = 0};
    redlock *client = NULL;
    int status = args_read(command, &s, argc, argv, take, &names);
    if (status == 0)
        status = settings_complete(&s);
    if (status == 0)
        status = client_open(&s, &client);
    if (status == 0)
        status =
            names.count ? show_homes(&s, client, names.name, names.count) : show(&s, client);
    client_close(&s, client);
    settings_free(&s);
    return status;
}

static const struct cli_option options[] = {
    OPTION(OPTION_WHERE, 0, "where", "NAME",
           "in which quorum does this lock live? Several times"),
    {0},
};

const struct command command_nodes = {
    .name = "nodes",
    .elsewhere = "ping",
    .summary = "show the state of the nodes, and where a lock lives",
    .usage = "[OPTION...]",
    .about =
        "Pings every node and shows its state, whether it may vote or for "
        "how long it may not, version, round trip, how far its clock is from this machine's, "
        "whether the connection is encrypted and verified, whether the server can compare and "
        "delete without a script, how often it was connected to, and why it is down or in "
        "quarantine. Several quorums (--nodes 'east=a,b,c;west=d,e,f') are shown one by one, "
        "each with how many of its nodes answer and how many it needs.\n\n"
        "With --where NAME, prints in which quorum that lock lives, and with -v on which "
        "nodes; no node gets a request.\n\n"
        "Exits with 0 when a majority answered, of every quorum, else with 69 or 77.\n",
    .examples = "redlock nodes --nodes redis1,redis2,redis3\n"
                "redlock nodes --nodes 'east=a,b,c;west=d,e,f' --where nightly-report",
    .options = options,
    .run = nodes_main,
};
