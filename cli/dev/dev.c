/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "base/slice.h"
#include "dev/group.h"
#include "dev/quorum.h"
#include "dev/verbs.h"
#include "settings/command.h"
#include "system/path.h"
#include "system/signals.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_SENTINEL = OPTION_OWN, OPTION_CLUSTER };

#define NODES_DEFAULT 5
#define PORT_MAX 65535

struct dev {
    struct settings settings; /* of the shared options only --json applies */
    long count;               /* servers of a quorum; 0: as many as usual */
    long quorums;             /* 0: one without a name */
    const char *server, *directory;
    long base_port;
    const char *verb, *name;
    char **command;
    struct dev_quorum quorum;
};

static int take_word(struct dev *d, const char *word)
{
    char shown[RL_QUOTE_MAX];
    rl_quote(shown, word);
    if (!d->verb && dev_verbs_know(word)) {
        d->verb = word;
        return 0;
    }
    if (!d->verb) {
        const char *nearest = rl_nearest(rl_slice_of(word), dev_verbs);
        if (nearest)
            return message_usage("unknown action '%s'; did you mean '%s'?", shown, nearest);
        return message_usage("unknown action '%s'; a command to run goes behind --", shown);
    }
    if (d->name || !dev_verbs_take_name(d->verb))
        return message_usage("unexpected word '%s'", shown);
    d->name = word;
    return 0;
}

static int take_group(struct dev *d, const struct dev_group *group)
{
    const struct dev_group *before = d->quorum.group;
    if (before && before != group)
        return message_usage("%s and %s exclude each other", before->option, group->option);
    d->quorum.group = group;
    return 0;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct dev *d = data;
    switch (id) {
    case ARGS_WORD:
        return take_word(d, value);
    case ARGS_DASHES:
        d->command = a->argv + a->at;
        a->at = a->argc;
        return 0;
    case OPTION_SENTINEL:
        return take_group(d, &dev_sentinels);
    case OPTION_CLUSTER:
        return take_group(d, &dev_cluster);
    }
    return 0;
}

static int server_count(const struct dev *d)
{
    const struct dev_group *group = d->quorum.group;
    if (group)
        return group->servers + group->sentinels;
    return (int)((d->count ? d->count : NODES_DEFAULT) * (d->quorums > 0 ? d->quorums : 1));
}

/* "2", "s2", "v2" or "master". */
static int check_name(const struct dev *d)
{
    long ignored;
    if (!d->name && dev_verbs_want_name(d->verb))
        return message_usage("which node? `redlock dev %s 1`", d->verb);
    if (!d->name || strcmp(d->name, "master") == 0)
        return 0;
    return args_number(d->verb, d->name + (d->name[0] == 's' || d->name[0] == 'v'), 1,
                       DEV_SERVERS_MAX, &ignored);
}

static int check_options(const struct dev *d)
{
    const struct dev_group *group = d->quorum.group;
    int servers, ports;
    const char *surplus = d->count ? "--count" : "--quorums";
    if (d->verb && d->command)
        return message_usage("'%s' and a command exclude each other", d->verb);
    if (d->command && !d->command[0])
        return message_usage("COMMAND is missing behind --");
    if (group && group->sentinels && (d->count || d->quorums))
        return message_usage("--sentinel starts one group of %d servers and %d sentinels; "
                             "leave out %s",
                             group->servers, group->sentinels, surplus);
    if (group && (d->count || d->quorums))
        return message_usage("--cluster starts one cluster of %d servers; leave out %s",
                             group->servers, surplus);
    servers = server_count(d);
    ports = servers * (group && group->has_bus ? 3 : 1);
    if (servers > DEV_SERVERS_MAX)
        return message_usage("%ld quorums of %ld servers are %d; at most %d can be started",
                             d->quorums, servers / d->quorums, servers, DEV_SERVERS_MAX);
    if (d->base_port && d->base_port + ports - 1 > PORT_MAX)
        return message_usage("--port %ld leaves no room for %d ports", d->base_port, ports);
    return d->verb && dev_verbs_take_name(d->verb) ? check_name(d) : 0;
}

static int find_program(struct dev *d)
{
    const char *wanted = d->server ? d->server : getenv("REDLOCK_SERVER");
    char shown[RL_QUOTE_MAX];
    if (!wanted || !*wanted)
        return dev_find_server(d->quorum.program) ? 0 : EXIT_UNAVAILABLE;
    if (path_find(wanted, false, d->quorum.program))
        return 0;
    rl_quote(shown, wanted);
    return message_fail(EXIT_CONFIG, "%s is not a program that can be run", shown);
}

static void announce_json(const struct dev_quorum *q, const char *nodes)
{
    struct rl_json j = {.out = stdout};
    struct dev_row rows[DEV_SERVERS_MAX];
    dev_rows(q, rows);
    message_json_success(&j);
    rl_json_string(&j, "dir", q->directory);
    rl_json_string(&j, "redlock_nodes", nodes);
    rl_json_integer(&j, "pid", getpid());
    dev_rows_json(&j, rows, (size_t)q->count);
    rl_json_finish(&j);
}

/* As one word of a shell, and the end of the line. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    fputs("'\n", stdout);
}

/* Lines that a shell can evaluate; what is for people stands in comments. */
static void announce(const struct dev_quorum *q, const char *nodes)
{
    struct dev_row rows[DEV_SERVERS_MAX];
    fputs("export REDLOCK_NODES=", stdout);
    if (q->quorums > 0)
        print_quoted(nodes); /* it has semicolons in it */
    else
        printf("%s\n", nodes);
    fputs("export REDLOCK_DEV=", stdout);
    print_quoted(q->directory);
    dev_rows(q, rows);
    for (int i = 0; i < q->count; i++) {
        const struct dev_row *row = &rows[i];
        printf("# %s %-2s  127.0.0.1:%-5d  pid %ld%s%s%s%s\n", *row->role ? row->role : "node",
               row->name, row->port, row->pid, *row->votes ? "  vote " : "", row->votes,
               *row->quorum ? "  quorum " : "", row->quorum);
    }
    if (isatty(STDOUT_FILENO))
        printf("# Paste the first two lines into another terminal. Ctrl-C ends the servers.\n");
}

static int run_command(struct dev *d, const char *nodes)
{
    struct dev_quorum *q = &d->quorum;
    int error;
    /* Settings for other servers must not get in the way of these. */
    if (setenv("REDLOCK_NODES", nodes, 1) != 0 || setenv("REDLOCK_DEV", q->directory, 1) != 0 ||
        setenv("REDLOCK_CONFIG", "/dev/null", 1) != 0 || unsetenv("REDLOCK_PASSWORD") != 0 ||
        unsetenv("REDLOCK_SENTINEL_PASSWORD") != 0 || unsetenv("REDLOCK_SERVICE") != 0 ||
        unsetenv("REDLOCK_HELD") != 0 || unsetenv("REDLOCK_MAX_TTL") != 0)
        return message_fail(EXIT_INTERNAL, "out of memory");
    error = child_start(&q->command, d->command, -1, -1);
    if (error) {
        child_close(&q->command);
        return child_explain(d->command[0], error);
    }
    dev_quorum_run(q);
    child_close(&q->command);
    return child_exit_status(&q->command);
}

static int serve(struct dev *d)
{
    struct dev_quorum *q = &d->quorum;
    char nodes[DEV_NODES_MAX];
    int status;
    q->count = server_count(d);
    q->quorums = (int)d->quorums;
    q->control_fd = -1;
    q->signal_fd = signals_take();
    if (q->signal_fd < 0)
        return EXIT_INTERNAL;
    status = dev_quorum_open(q, d->directory, (int)d->base_port);
    if (status == 0) {
        dev_quorum_nodes(q, nodes);
        if (d->command) {
            status = run_command(d, nodes);
        } else {
            if (d->settings.json)
                announce_json(q, nodes);
            else
                announce(q, nodes);
            status = message_flush();
            if (status == 0)
                dev_quorum_run(q);
        }
    }
    dev_quorum_close(q);
    close(q->signal_fd);
    return status;
}

static int run_verb(struct dev *d)
{
    const char *directory = d->directory ? d->directory : getenv("REDLOCK_DEV");
    if (directory && *directory)
        return dev_verbs_run(&d->settings, directory, d->verb, d->name);
    return message_usage("which servers? REDLOCK_DEV is not set; inside `redlock dev` it is, "
                         "elsewhere name the directory with --dir");
}

static int dev_main(const struct command *command, int argc, char **argv)
{
    static struct dev d;
    int status = args_read(command, &d.settings, argc, argv, take, &d);
    if (status == 0)
        status = check_options(&d);
    if (status == 0) {
        message_use_json(d.settings.json);
        status = d.verb ? run_verb(&d) : find_program(&d);
    }
    if (status == 0 && !d.verb)
        status = serve(&d);
    settings_free(&d.settings);
    return status;
}

static const struct cli_option options[] = {
    NUMBER('c', "count", "how many servers, 1 to 15 (5)", struct dev, count, 1,
           REDLOCK_NODES_MAX),
    STORED(OPTION_NUMBER, 0, "quorums", "Q", "that many times N servers: quorums q1, q2, ...",
           struct dev, quorums, 1, DEV_SERVERS_MAX),
    OPTION(OPTION_SENTINEL, 0, "sentinel", NULL,
           "a master, two replicas and three sentinels instead"),
    OPTION(OPTION_CLUSTER, 0, "cluster", NULL, "a cluster of three masters and their replicas"),
    TEXT(0, "server", "PROGRAM", "run this instead of redis-server or valkey-server",
         struct dev, server),
    TEXT(0, "dir", "DIR", "keep logs and socket there (a temporary directory)", struct dev,
         directory),
    STORED(OPTION_NUMBER, 0, "port", "PORT", "first of N consecutive ports (any free ones)",
           struct dev, base_port, 1, PORT_MAX),
    SWITCH(0, "no-init", "leave the servers in quarantine, as new ones are", struct dev,
           quorum.no_init),
    {0},
};

const struct command command_dev = {
    .name = "dev",
    .summary = "start real servers on this machine to try things with",
    .usage = "[OPTION...] [-- COMMAND [ARGUMENT...]]\n"
             "       redlock dev [--dir DIR] kill|start|hang|resume|isolate NODE\n"
             "       redlock dev [--dir DIR] failover [NODE]\n"
             "       redlock dev [--dir DIR] list",
    .about =
        "Starts N real servers without persistence on loopback ports. With COMMAND, runs it "
        "with REDLOCK_NODES naming them and exits with its status; without, prints the "
        "variables to set and stays until it is interrupted. Servers and directory are gone "
        "afterwards.\n\n"
        "From inside COMMAND, or anywhere with --dir or REDLOCK_DEV, single servers can be "
        "killed (as in a crash), started again (empty, on the same port), hung (they accept "
        "and never answer) and resumed. NODE is a number from 1.\n\n"
        "The servers are initialised (redlock init) and vote at once. One that was started "
        "again is not: it may have forgotten locks, and is in quarantine as it would be "
        "anywhere, until the longest TTL has passed or `redlock init` lets it vote.\n\n"
        "With --sentinel they are one Sentinel group called redlock: a master, two replicas "
        "and three sentinels. The sentinels are s1, s2 and s3 to kill, start, hang and resume, "
        "`master` is the server that most of them name, and `failover` makes another one the "
        "master at once.\n\n"
        "With --cluster they are one Redis Cluster: the masters 1 to 3 and their replicas 4 to "
        "6. `v1`, `v2` and `v3` are the masters of the three votes, which `failover v1` "
        "replaces; `isolate` cuts a server off from the bus of the others while clients reach "
        "it, until `resume`.\n",
    .examples = "redlock dev -- sh -c 'redlock run demo -- echo locked; redlock nodes'\n"
                "redlock dev -c 3 --quorums 2 -- redlock nodes\n"
                "redlock dev -c 3 -- bash\n"
                "redlock dev hang 2; redlock nodes; redlock dev resume 2\n"
                "redlock dev --sentinel -- bash\n"
                "redlock dev kill master; redlock dev list; redlock dev failover\n"
                "redlock dev --cluster -- bash\n"
                "redlock dev failover v1; redlock dev isolate v2; redlock dev list",
    .options = options,
    .local = true,
    .run = dev_main,
};
