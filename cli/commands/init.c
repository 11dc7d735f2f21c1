/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/init.h"
#include "report/advice.h"
#include "report/nodes.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/text.h"

/* Another init at the same moment. */
enum { TRIES_MAX = 8, PAUSE_MIN_MS = 50, PAUSE_MS = 400 };

/* A Sentinel group whose server has to be found; --wait: servers that are being started. */
enum { FIND_MAX_MS = 500, START_MAX_MS = 60000, LOOK_AGAIN_MS = 50 };

/* What the command line requests, besides the settings. */
struct init {
    bool yes, force, wait;
    const char *only; /* quorum; NULL: all */
    const char *old;  /* the server that a node replaces; NULL: none */
};

static void print_addresses(redlock *member)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    char address[REDLOCK_ADDRESS_MAX];
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        rl_quote_safe(address, sizeof address, info.address);
        fprintf(errors_stream(), "  %s\n", address);
    }
}

/* The operator knows what no program can find out. Returns 0 or an exit status. */
static int confirm(const struct settings *s, redlock *member, const struct init *i)
{
    char old[RL_QUOTE_MAX];
    if (s->json || !isatty(STDIN_FILENO) || !errors_are_on_terminal())
        return message_usage(i->old
                                 ? "there is no terminal to ask on; --yes states that the old "
                                   "server is stopped for good"
                                 : "there is no terminal to ask on; --yes states that "
                                   "nothing is held on these nodes");
    fprintf(errors_stream(), "These nodes will vote from now on:\n");
    print_addresses(member);
    if (i->old) {
        rl_quote(old, i->old);
        fprintf(errors_stream(),
                "in place of %s. If that server comes back, under whatever name, two clients\n"
                "can hold one lock. Locks may be held on the others meanwhile.\n",
                old);
        return message_confirm("Is the old server stopped for good?");
    }
    fprintf(errors_stream(),
            "This is right for new servers, and for servers that were empty for longer than\n"
            "the longest TTL. If a client still holds a lock on them, a second can get it.\n");
    return message_confirm("Are they free of locks, and may they vote now?");
}

static int succeeded(const struct settings *s, redlock *member, const redlock_report *report,
                     bool changed)
{
    struct guarantee g = guarantee_of(member);
    if (s->json) {
        struct rl_json j = {.out = stdout};
        message_json_success(&j);
        rl_json_bool(&j, "changed", changed);
        report_json(report, &j, false);
        guarantee_json(&g, s->config.guard != REDLOCK_NO_GUARD, &j);
        rl_json_finish(&j);
    } else if (!s->quiet) {
        report_table(report, stdout);
        printf("%u of %u nodes%s%s may vote%s\n", report->node_count, report->node_count,
               report->quorum_name[0] ? " of quorum " : "", report->quorum_name,
               changed ? "" : " already: nothing was to be done");
        guarantee_print(s, member, stdout);
    }
    return message_flush();
}

static const char *find_advice(int error, const redlock_report *report)
{
    const char *advice;
    switch (error) {
    case REDLOCK_NOQUORUM:
        advice = advice_by_reason(report, false);
        return advice
                   ? advice
                   : "bring back the nodes that failed, or, if they are only slow, give them "
                     "longer with --node-timeout, and do it again";
    case REDLOCK_BUSY:
        return "let one init finish, look with `redlock doctor`, and do it again if need be";
    case REDLOCK_GUARDED:
        return "see redlock-nodes(7), CHANGING THE NODES; `redlock doctor` shows which set "
               "each node belongs to";
    default:
        return NULL;
    }
}

/*
 * The same command on several machines at once: one of them succeeds, and the others find its
 * set when they try again a moment later.
 */
static int pause_ms(void)
{
    uint16_t random = 0;
    if (getrandom(&random, sizeof random, 0) < 0)
        random = (uint16_t)getpid();
    return PAUSE_MIN_MS + random % PAUSE_MS;
}

static int admit_in_turn(redlock *client, redlock_report *report)
{
    redlock_answer *answer = NULL;
    int error = redlock_admit(client, &answer);
    for (int i = 0; i < TRIES_MAX - 1 && error == REDLOCK_BUSY; i++) {
        poll(NULL, 0, pause_ms());
        error = redlock_admit(client, &answer);
    }
    return client_report(report, error, answer);
}

/* text: NULL: what the library reported last. */
static int failed(const struct settings *s, int error, const char *text,
                  const redlock_report *report)
{
    char detail[512];
    struct failure f;
    snprintf(detail, sizeof detail, "%s", text ? text : redlock_detail());
    f = (struct failure){
        .error = error,
        .text = detail,
        .advice = find_advice(error, report),
        .report = report,
    };
    return report_failure(s, &f);
}

static bool is_complete(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (report->node[i].vote != REDLOCK_VOTE_GRANTED)
            return false;
    }
    return true;
}

/*
 * Sentinels that are not those of the set are found to be so with the first answer of the
 * server, which has to be connected to anew then. With --wait all nodes have to be there.
 */
static int look_at(const struct settings *s, const struct init *i, redlock *client,
                   redlock *member, redlock_admission *found, redlock_report *report)
{
    const redlock_event *event;
    char missing[REPORT_TEXT_MAX];
    bool shown = s->quiet || s->json;
    int64_t limit_ms = i->wait                           ? START_MAX_MS
                       : guarantee_of(member).groups > 0 ? FIND_MAX_MS
                                                         : 0;
    int64_t end_ns = timer_now_ns() + limit_ms * RL_NS_PER_MS;
    for (;;) {
        redlock_answer *answer = NULL;
        int error = redlock_look_at_admission(member, &answer);
        bool is_there, may_come;
        if (error == REDLOCK_OK)
            *found = *answer->admission;
        client_report(report, error, answer);
        is_there = error == REDLOCK_OK && (!i->wait || is_complete(report));
        may_come = error == REDLOCK_OK || error == REDLOCK_NOQUORUM ||
                   (error == REDLOCK_BUSY && i->wait);
        if (is_there || !may_come || timer_now_ns() >= end_ns)
            return error;
        if (i->wait && !shown) {
            report_failed_nodes(report, missing, sizeof missing);
            message_line("waiting until all nodes are there: %s", missing);
            shown = true;
        }
        redlock_next(client, &event, LOOK_AGAIN_MS);
    }
}

/*
 * --wait. After another init was met the nodes are looked at again: one that was connected to
 * anew meanwhile is watched from there.
 */
static int admit_watched(const struct settings *s, const struct init *i, redlock *client,
                         redlock *member)
{
    redlock_report report;
    redlock_admission found = {0};
    redlock_answer *answer = NULL;
    struct init_watch watch = {0};
    int64_t left_ms;
    for (int tries = 0;; poll(NULL, 0, (int)left_ms)) {
        int error = look_at(s, i, client, member, &found, &report);
        int status;
        if (error == REDLOCK_OK && !found.writes)
            return succeeded(s, member, &report, false);
        if (error != REDLOCK_OK)
            return failed(s, error, NULL, &report);
        if (!is_complete(&report))
            return failed(s, REDLOCK_NOQUORUM, "not all nodes answer. Nothing was changed",
                          &report);
        status = init_watch_step(s, &watch, client, member, &found, &left_ms);
        if (status)
            return status;
        if (left_ms > 0)
            continue;
        error = redlock_admit(member, &answer);
        client_report(&report, error, answer);
        if (error == REDLOCK_OK)
            return succeeded(s, member, &report, true);
        if (error != REDLOCK_BUSY || ++tries == TRIES_MAX)
            return failed(s, error, NULL, &report);
        left_ms = pause_ms();
    }
}

/* One quorum: looks first, and states only what is not visibly false. */
static int admit(struct settings *s, const struct init *i, redlock *client, redlock *member)
{
    redlock_report report;
    redlock_admission found = {0};
    int status = 0;
    int error = look_at(s, i, client, member, &found, &report);
    if (error == REDLOCK_OK && !found.writes)
        return succeeded(s, member, &report, false);
    if (error != REDLOCK_OK)
        return failed(s, error, NULL, &report);
    if (!i->old && !i->force)
        status = init_refuse_held(s, client, member);
    if (status == 0 && !i->yes)
        status = confirm(s, member, i);
    if (status == 0 && i->old)
        status = init_watch_replace(s, member, i->old, &found);
    if (status)
        return status;
    error = admit_in_turn(member, &report);
    s->has_admitted = error == REDLOCK_OK;
    return error == REDLOCK_OK ? succeeded(s, member, &report, true)
                               : failed(s, error, NULL, &report);
}

static int admit_all(struct settings *s, const struct init *i, redlock *client)
{
    redlock *member;
    int status = 0;
    for (size_t k = 0; (member = redlock_member(client, k)); k++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        int result;
        redlock_node(member, 0, &info);
        if (i->only && strcmp(i->only, info.quorum_name) != 0)
            continue;
        result = i->wait ? admit_watched(s, i, client, member) : admit(s, i, client, member);
        status = status ? status : result;
    }
    return status;
}

static bool has_quorum(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->config.quorum_count; i++) {
        if (strcmp(s->config.quorum[i], name) == 0)
            return true;
    }
    return false;
}

static int check(const struct settings *s, const struct init *i)
{
    if (i->only && !has_quorum(s, i->only))
        return message_usage("--quorum names none of the quorums of --nodes");
    if (i->old && s->config.quorum_count > 1 && !i->only)
        return message_usage("--replace needs --quorum: which of the quorums has the node?");
    if (i->old && i->force)
        return message_usage("--replace waits until it is safe, and --force does not wait");
    if (i->wait && (i->old || i->force))
        return message_usage(i->old
                                 ? "--replace waits by itself, and for more than --wait does"
                                 : "--wait waits until it is safe, and --force does not wait");
    return 0;
}

static int init_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct init i = {.yes = false};
    redlock *client = NULL;
    int status = args_read(command, &s, argc, argv, NULL, &i);
    if (status == 0)
        status = settings_complete(&s);
    if (status == 0)
        status = check(&s, &i);
    /* An operator who may only write markers would be refused the script that
     * requests these. */
    s.config.no_native = true;
    if (status == 0)
        status = client_open(&s, &client);
    if (status == 0)
        status = admit_all(&s, &i, client);
    client_close(&s, client);
    settings_free(&s);
    return status;
}

static const struct cli_option options[] = {
    SWITCH(0, "force", "also while locks are held: no node has forgotten one", struct init,
           force),
    TEXT(0, "quorum", "NAME", "of several quorums only this one", struct init, only),
    TEXT(0, "replace", "OLD", "one node is new, in place of this one, which is gone",
         struct init, old),
    SWITCH(0, "wait", "do not ask: wait until nothing forgotten can be held", struct init,
           wait),
    SWITCH('y', "yes", "do not ask: nothing is held, or OLD is gone for good", struct init,
           yes),
    {0},
};

const struct command command_init = {
    .name = "init",
    .summary = "make nodes a set that votes, stating that nothing is held on them",
    .usage = "[OPTION...]",
    .about =
        "A server that has just started may have forgotten locks that are still held. It does "
        "not vote until the longest TTL has passed (--max-ttl and two seconds, four for a new "
        "master of a Sentinel group). Brand-new servers look exactly the same. With this "
        "command you state, since only you can know, that no client holds a lock on the nodes, "
        "and they vote at once. If that is wrong, two processes can hold the same lock.\n\n"
        "From then on the nodes know that they belong together: a client with other nodes, or "
        "with another number of them, does not count their votes, and `redlock doctor` reports "
        "so. Run it with the new nodes whenever the nodes change (redlock-nodes(7)). A new set "
        "needs all its nodes; and none is taken from another set that may live on without it.\n"
        "\n"
        "It looks first. Where all nodes are a set that may vote already, it reports that and "
        "writes nothing, whatever is held. Otherwise it lists the locks that are held, and "
        "refuses (73), unless --force states that no node has forgotten one.\n\n"
        "With --replace OLD, one of the nodes is new and takes the place of OLD, a server that "
        "is stopped for good, while locks are held on the others: it watches all nodes for the "
        "longest TTL and two seconds, OLD among them, which must not answer, and then lets the "
        "new one vote. Interrupted, it has written nothing, and is begun anew.\n\n"
        "With --wait nothing is stated, so it is for jobs that run whenever a deployment "
        "starts, whatever is held: it waits up to a minute for servers that are being started; "
        "where a node is not admitted, it watches all nodes for the longest TTL and two "
        "seconds, and then lets them vote. They must be new, or the nodes of one set under the "
        "same names.\n\n"
        "Asks for confirmation on a terminal, and needs --yes or --wait elsewhere. Exits with "
        "0 when every node took it, 69 or 77 when not, 73 when locks are held, 75 when another "
        "init was at work on them, 1 when you said no.\n",
    .examples = "redlock init --yes --nodes redis1,redis2,redis3\n"
                "redlock init --wait --max-ttl 20s --nodes redis1,redis2,redis3    # 22 s\n"
                "redlock init --replace redis3 --nodes redis1,redis2,redis4",
    .options = options,
    .run = init_main,
};
