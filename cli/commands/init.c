/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/question.h"
#include "ui/text.h"

enum { OPTION_YES = OPTION_OWN, OPTION_QUORUM };

/* Another init at the same moment. */
enum { TRIES_MAX = 8, PAUSE_MIN_MS = 50, PAUSE_MS = 400 };

static bool is_wanted(const char *only, const char *quorum)
{
    return !only || strcmp(only, quorum) == 0;
}

static void print_addresses(redlock *client, const char *only)
{
    redlock_node_info info = {.size = sizeof info};
    char address[REDLOCK_ADDRESS_MAX];
    for (size_t i = 0; redlock_node(client, i, &info) == REDLOCK_OK; i++) {
        text_safe(address, sizeof address, info.address);
        if (is_wanted(only, info.quorum_name))
            fprintf(errors_stream(), "  %s\n", address);
    }
}

/* The operator knows what no program can find out. Returns 0 or an exit status. */
static int confirm(redlock *client, const char *only)
{
    fprintf(errors_stream(), "These nodes will vote from now on:\n");
    print_addresses(client, only);
    fprintf(errors_stream(),
            "This is right for new servers, and for servers that were empty for longer than\n"
            "the longest TTL. If a client still holds a lock on them, a second can get it.\n");
    return question_confirm("Are they free of locks, and may they vote now?");
}

static int succeeded(const struct settings *s, const redlock_report *report)
{
    if (s->json) {
        struct json j = {.out = stdout};
        message_json_success(&j);
        report_json(report, &j);
        json_finish(&j);
    } else if (!s->quiet) {
        report_table(report, stdout);
        printf("%u of %u nodes%s%s may vote\n", report->node_count, report->node_count,
               report->quorum_name[0] ? " of quorum " : "", report->quorum_name);
    }
    return message_flush();
}

static const char *advice_for(int error, const redlock_report *report)
{
    switch (error) {
    case REDLOCK_NOQUORUM:
        if (report_has_word(report, "INFO must be allowed"))
            return "allow +info for this user on the nodes, and do it again";
        return "bring back the nodes that failed, or, if they are only slow, give them longer with "
               "--node-timeout, and do it again";
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
    int error = redlock_admit(client, report);
    for (int i = 0; i < TRIES_MAX - 1 && error == REDLOCK_BUSY; i++) {
        if (getrandom(&random, sizeof random, 0) < 0)
            random = (uint16_t)getpid();
        poll(NULL, 0, PAUSE_MIN_MS + random % PAUSE_MS);
        error = redlock_admit(client, report);
    }
    return error;
}

/* One quorum. */
static int admit(const struct settings *s, redlock *client)
{
    redlock_report report = {.size = sizeof report};
    char detail[512];
    int error = admit_in_turn(client, &report);
    if (error == REDLOCK_OK)
        return succeeded(s, &report);
    snprintf(detail, sizeof detail, "%s", redlock_detail());
    struct failure f = {
        .error = error,
        .status = exit_status_of(error),
        .text = detail,
        .advice = advice_for(error, &report),
        .report = &report,
    };
    return report_failure(s, &f);
}

static int admit_all(const struct settings *s, redlock *client, const char *only)
{
    redlock *member;
    int status = 0;
    for (size_t i = 0; (member = redlock_member(client, i)); i++) {
        redlock_node_info info = {.size = sizeof info};
        redlock_node(member, 0, &info);
        int failed = is_wanted(only, info.quorum_name) ? admit(s, member) : 0;
        status = status ? status : failed;
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

/* What the command line asks for, besides the settings. */
struct init {
    bool yes;
    const char *only; /* quorum; NULL: all */
};

static int take(void *data, struct args *a, int id, const char *value)
{
    struct init *i = data;
    (void)a;
    if (id == ARGS_WORD)
        return message_usage("unexpected word; the nodes are named with --nodes");
    if (id == OPTION_YES)
        i->yes = true;
    else if (id == OPTION_QUORUM)
        i->only = value;
    return 0;
}

static int check(const struct settings *s, const struct init *i)
{
    if (i->only && !has_quorum(s, i->only))
        return message_usage("--quorum names none of the quorums of --nodes");
    if (!i->yes && (s->json || !isatty(STDIN_FILENO) || !errors_are_on_terminal()))
        return message_usage("there is no terminal to ask on; --yes states that nothing is "
                             "held on these nodes");
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
    if (status == 0 && !i.yes)
        status = confirm(client, i.only);
    if (status == 0)
        status = admit_all(&s, client, i.only);
    redlock_close(client);
    settings_free(&s);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_QUORUM, 0, "quorum", "NAME", "of several quorums only this one"},
    {OPTION_YES, 'y', "yes", NULL, "do not ask: nothing is held on these nodes"},
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
        "Asks for confirmation on a terminal, and needs --yes elsewhere. Exits with 0 "
        "when every node took it, 69 or 77 when not, 75 when another init was at work on them, 1 "
        "when you said no.\n",
    .examples = "redlock init --yes --nodes redis1,redis2,redis3",
    .options = options,
    .run = init_main,
};
