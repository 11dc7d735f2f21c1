/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "commands/init_held.h"
#include "commands/replace.h"
#include "report/advice.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/question.h"
#include "ui/text.h"

enum { OPTION_YES = OPTION_OWN, OPTION_QUORUM, OPTION_FORCE, OPTION_REPLACE };

/* Another init at the same moment. */
enum { TRIES_MAX = 8, PAUSE_MIN_MS = 50, PAUSE_MS = 400 };

/* What the command line asks for, besides the settings. */
struct init {
    bool yes, force;
    const char *only; /* quorum; NULL: all */
    const char *old;  /* the server that a node replaces; NULL: none */
};

static bool is_wanted(const char *only, const char *quorum)
{
    return !only || strcmp(only, quorum) == 0;
}

static void print_addresses(redlock *member)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    char address[REDLOCK_ADDRESS_MAX];
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        text_safe(address, sizeof address, info.address);
        fprintf(errors_stream(), "  %s\n", address);
    }
}

/* The operator knows what no program can find out. Returns 0 or an exit status. */
static int confirm(const struct settings *s, redlock *member, const struct init *i)
{
    char old[TEXT_QUOTE_MAX];
    if (s->json || !isatty(STDIN_FILENO) || !errors_are_on_terminal())
        return message_usage(i->old
                                 ? "there is no terminal to ask on; --yes states that the old "
                                   "server is stopped for good"
                                 : "there is no terminal to ask on; --yes states that "
                                   "nothing is held on these nodes");
    fprintf(errors_stream(), "These nodes will vote from now on:\n");
    print_addresses(member);
    if (i->old) {
        text_quote(old, i->old);
        fprintf(errors_stream(),
                "in place of %s. If that server comes back, under whatever name, two clients\n"
                "can hold one lock. Locks may be held on the others meanwhile.\n",
                old);
        return question_confirm("Is the old server stopped for good?");
    }
    fprintf(errors_stream(),
            "This is right for new servers, and for servers that were empty for longer than\n"
            "the longest TTL. If a client still holds a lock on them, a second can get it.\n");
    return question_confirm("Are they free of locks, and may they vote now?");
}

static int succeeded(const struct settings *s, const redlock_report *report, bool changed)
{
    if (s->json) {
        struct json j = {.out = stdout};
        message_json_success(&j);
        json_bool(&j, "changed", changed);
        report_json(report, &j);
        json_finish(&j);
    } else if (!s->quiet) {
        report_table(report, stdout);
        printf("%u of %u nodes%s%s may vote%s\n", report->node_count, report->node_count,
               report->quorum_name[0] ? " of quorum " : "", report->quorum_name,
               changed ? "" : " already: nothing was to be done");
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
        return "see Changing the nodes in redlock(1); `redlock doctor` shows which set each "
               "node belongs to";
    default:
        return NULL;
    }
}

/*
 * The same command on several machines at once: one of them succeeds, and the others find its set
 * when they try again a moment later.
 */
static int admit_in_turn(redlock *client, redlock_report *report)
{
    uint16_t random = 0;
    redlock_answer *answer = NULL;
    int error = redlock_admit(client, &answer);
    for (int i = 0; i < TRIES_MAX - 1 && error == REDLOCK_BUSY; i++) {
        if (getrandom(&random, sizeof random, 0) < 0)
            random = (uint16_t)getpid();
        poll(NULL, 0, PAUSE_MIN_MS + random % PAUSE_MS);
        error = redlock_admit(client, &answer);
    }
    return client_report(report, error, answer);
}

static int failed(const struct settings *s, int error, const redlock_report *report)
{
    char detail[512];
    snprintf(detail, sizeof detail, "%s", redlock_detail());
    struct failure f = {
        .error = error,
        .status = exit_status_of(error),
        .text = detail,
        .advice = find_advice(error, report),
        .report = report,
    };
    return report_failure(s, &f);
}

/* One quorum: looks first, and states only what is not visibly false. */
static int admit(struct settings *s, const struct init *i, redlock *member)
{
    redlock_report report;
    redlock_admission found = {0};
    redlock_answer *answer = NULL;
    int status = 0;
    int error = redlock_look_at_admission(member, &answer);
    if (error == REDLOCK_OK)
        found = *answer->admission;
    client_report(&report, error, answer);
    if (error == REDLOCK_OK && !found.writes)
        return succeeded(s, &report, false);
    if (error != REDLOCK_OK)
        return failed(s, error, &report);
    if (!i->old && !i->force)
        status = init_refuse_held(s, member);
    if (status == 0 && !i->yes)
        status = confirm(s, member, i);
    if (status == 0 && i->old)
        status = replace_wait(s, member, i->old, &found);
    if (status)
        return status;
    error = admit_in_turn(member, &report);
    return error == REDLOCK_OK ? succeeded(s, &report, true) : failed(s, error, &report);
}

static int admit_all(struct settings *s, const struct init *i, redlock *client)
{
    redlock *member;
    int status = 0;
    for (size_t k = 0; (member = redlock_member(client, k)); k++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        redlock_node(member, 0, &info);
        int result = is_wanted(i->only, info.quorum_name) ? admit(s, i, member) : 0;
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

static int take(void *data, struct args *a, int id, const char *value)
{
    struct init *i = data;
    (void)a;
    if (id == ARGS_WORD)
        return message_usage("unexpected word; the nodes are named with --nodes");
    if (id == OPTION_YES)
        i->yes = true;
    else if (id == OPTION_FORCE)
        i->force = true;
    else if (id == OPTION_QUORUM)
        i->only = value;
    else if (id == OPTION_REPLACE)
        i->old = value;
    return 0;
}

static int check(const struct settings *s, const struct init *i)
{
    if (i->only && !has_quorum(s, i->only))
        return message_usage("--quorum names none of the quorums of --nodes");
    if (i->old && s->config.quorum_count > 1 && !i->only)
        return message_usage("--replace needs --quorum: which of the quorums has the node?");
    if (i->old && i->force)
        return message_usage("--replace waits until it is safe, and --force does not wait");
    return 0;
}

static int init_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct init i = {.yes = false};
    redlock *client = NULL;
    int status = args_read(command, &s, argc, argv, take, &i);
    if (status == 0)
        status = settings_complete(&s);
    if (status == 0)
        status = check(&s, &i);
    /* An operator who may only write markers would be refused the script that asks for these. */
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
    {OPTION_FORCE, 0, "force", NULL, "also while locks are held: no node has forgotten one"},
    {OPTION_QUORUM, 0, "quorum", "NAME", "of several quorums only this one"},
    {OPTION_REPLACE, 0, "replace", "OLD",
     "one node is new, in place of this one, which is gone"},
    {OPTION_YES, 'y', "yes", NULL, "do not ask: nothing is held, or OLD is gone for good"},
    {0},
};

const struct command command_init = {
    .name = "init",
    .summary = "make nodes a set that votes, stating that nothing is held on them",
    .usage = "[OPTION...]",
    .about =
        "A server that has just started may have forgotten locks that are still held. "
        "It does not vote until the longest TTL has passed (--max-ttl and two "
        "seconds). Brand-new servers look exactly the same. With this command you "
        "state, since only you can know, that no client holds a lock on the nodes, and they "
        "vote at once. If that is wrong, two processes can hold the same lock.\n\n"
        "From then on the nodes know that they belong together: a client with other "
        "nodes, or with another number of them, does not count their votes, and `redlock "
        "doctor` says so. Run it with the new nodes whenever the nodes change "
        "(Changing the nodes, in redlock(1)). A new set needs all its nodes; and none is taken from "
        "another set that may live on without it.\n\n"
        "It looks first. Where all nodes are a set that may vote already, it says so and writes "
        "nothing, whatever is held. Otherwise it lists the locks that are held, and refuses (73), unless "
        "--force says that no node has forgotten one.\n\n"
        "With --replace OLD, one of the nodes is new and takes the place of OLD, a server that "
        "is stopped for good, while locks are held on the others: it watches all nodes for the "
        "longest TTL and two seconds, OLD among them, which must not answer, and then lets the new one "
        "vote. Interrupted, it has written nothing, and is begun anew.\n\n"
        "Asks for confirmation on a terminal, and needs --yes elsewhere. Exits with 0 "
        "when every node took it, 69 or 77 when not, 73 when locks are held, 75 when another init was at "
        "work on them, 1 when you said no.\n",
    .examples = "redlock init --yes --nodes redis1,redis2,redis3\n"
                "redlock init --replace redis3 --nodes redis1,redis2,redis4",
    .options = options,
    .run = init_main,
};
