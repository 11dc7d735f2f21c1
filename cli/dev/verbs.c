/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/verbs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/quote.h"
#include "dev/bus.h"
#include "dev/control.h"
#include "dev/group.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"

#define MAJORITY_WAIT_MS 2000 /* a busy machine keeps some from answering for a moment */

const char *const dev_verbs[] = {"kill",    "start",    "hang", "resume",
                                 "isolate", "failover", "list", NULL};

bool dev_verbs_know(const char *word)
{
    for (const char *const *verb = dev_verbs; *verb; verb++) {
        if (strcmp(*verb, word) == 0)
            return true;
    }
    return false;
}

bool dev_verbs_want_name(const char *verb)
{
    return strcmp(verb, "list") != 0 && strcmp(verb, "failover") != 0;
}

bool dev_verbs_take_name(const char *verb)
{
    return strcmp(verb, "list") != 0;
}

/* Only the votes of a cluster have names: a Sentinel group has one. */
static void list_votes(const struct dev_quorum *q, const struct dev_view *view, int server,
                       char *out, size_t size)
{
    size_t used = 0;
    for (int vote = 0; q->group->votes > 1 && vote < q->group->votes; vote++) {
        if (view->owner[vote] == server)
            used += (size_t)snprintf(out + used, size - used, "%sv%d", used > 0 ? "," : "",
                                     vote + 1);
    }
}

void dev_rows(const struct dev_quorum *q, struct dev_row rows[DEV_SERVERS_MAX])
{
    struct dev_view view;
    if (q->group)
        q->group->look(q, &view);
    for (int i = 0; i < q->count; i++) {
        const struct dev_server *s = &q->server[i];
        struct dev_row *row = &rows[i];
        *row = (struct dev_row){.port = s->port.number};
        memcpy(row->name, s->name, sizeof row->name);
        row->pid = dev_server_is_up(s) ? s->child.pid : 0;
        snprintf(row->state, sizeof row->state, "%s", dev_server_state(s));
        dev_quorum_name(q, s, row->quorum);
        if (q->group) {
            snprintf(row->role, sizeof row->role, "%s", view.role[i]);
            list_votes(q, &view, i, row->votes, sizeof row->votes);
        }
    }
}

static void votes_json(struct rl_json *j, const char *votes)
{
    char copy[sizeof((struct dev_row *)NULL)->votes], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", votes);
    rl_json_array(j, "votes");
    for (char *vote = strtok_r(copy, ",", &rest); vote; vote = strtok_r(NULL, ",", &rest))
        rl_json_string(j, NULL, vote);
    rl_json_end_array(j);
}

void dev_rows_json(struct rl_json *j, const struct dev_row *rows, size_t count)
{
    rl_json_array(j, "nodes");
    for (size_t i = 0; i < count; i++) {
        char address[32];
        snprintf(address, sizeof address, "127.0.0.1:%d", rows[i].port);
        rl_json_object(j, NULL);
        rl_json_integer(j, "number",
                        strtol(rows[i].name + strspn(rows[i].name, "s"), NULL, 10));
        if (rows[i].role[0]) {
            rl_json_string(j, "name", rows[i].name);
            rl_json_string(j, "role", rows[i].role);
        }
        if (rows[i].votes[0])
            votes_json(j, rows[i].votes);
        if (rows[i].quorum[0])
            rl_json_string(j, "quorum_name", rows[i].quorum);
        rl_json_string(j, "address", address);
        rl_json_string(j, "state", rows[i].state);
        rl_json_known(j, "pid", rows[i].pid ? rows[i].pid : -1);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

/* Carries out one verb. A server that is in that state already is left alone. Returns 0 or a
 * status with `problem`. */
static int act(struct dev_quorum *q, struct dev_server *s, const char *verb, char *problem)
{
    bool up = dev_server_is_up(s), in_time = true;
    if (strcmp(verb, "start") == 0 && up && s->hung) {
        snprintf(problem, DEV_PROBLEM_MAX,
                 "%s %s is hung; `redlock dev resume %s` lets it go on", dev_server_kind(s),
                 s->name, s->name);
        return EXIT_UNAVAILABLE;
    }
    if (strcmp(verb, "start") == 0)
        return up ? 0 : dev_quorum_start(q, s, problem);
    if (strcmp(verb, "kill") == 0) {
        s->ending = true;
        child_signal(&s->child, SIGKILL);
        in_time = dev_quorum_await(q, s, true);
    } else if (!up) {
        snprintf(problem, DEV_PROBLEM_MAX, "%s %s is down; `redlock dev start %s` starts it",
                 dev_server_kind(s), s->name, s->name);
        return EXIT_UNAVAILABLE;
    } else if (strcmp(verb, "isolate") == 0) {
        s->isolated = true;
        dev_bus_cut(s->number, true);
    } else if (strcmp(verb, "hang") == 0) {
        child_signal(&s->child, SIGSTOP);
        in_time = dev_quorum_await(q, s, false);
    } else {
        child_signal(&s->child, SIGCONT);
        s->hung = false;
        if (s->isolated)
            dev_bus_cut(s->number, false);
        s->isolated = false;
    }
    if (in_time)
        return 0;
    snprintf(problem, DEV_PROBLEM_MAX, "%s %s did not obey in time", dev_server_kind(s),
             s->name);
    return EXIT_UNAVAILABLE;
}

static void describe(const struct dev_row *row, char *answer, size_t *used)
{
    *used += (size_t)snprintf(answer + *used, DEV_ANSWER_MAX - *used, "%s %d %ld %s %s %s %s\n",
                              row->name, row->port, row->pid, row->state,
                              *row->role ? row->role : "-", *row->votes ? row->votes : "-",
                              row->quorum);
}

/* What takes the place of a number: "master", or "v2" in a cluster. 0: this does not;
 * else the vote. */
static int read_vote(const struct dev_quorum *q, const char *name)
{
    int vote;
    if (!q->group || q->group->votes == 1)
        return q->group && strcmp(name, "master") == 0;
    vote = name[0] == 'v' && name[1] > '0' && !name[2] ? name[1] - '0' : 0;
    return vote <= q->group->votes ? vote : 0;
}

static int explain_names(const struct dev_quorum *q, char *problem)
{
    int servers = q->group ? q->group->servers : q->count;
    int used =
        snprintf(problem, DEV_PROBLEM_MAX, "there is no such node; they are 1 to %d", servers);
    size_t left = (size_t)(DEV_PROBLEM_MAX - used);
    if (q->group && q->group->sentinels)
        snprintf(problem + used, left, " or master, and the sentinels s1 to s%d",
                 q->group->sentinels);
    else if (q->group)
        snprintf(problem + used, left, ", and v1 to v%d are the masters of the votes",
                 q->group->votes);
    return EXIT_USAGE;
}

/* By its name, or as the master that there is at the moment. NULL with `problem`
 * and a status. */
static struct dev_server *find(struct dev_quorum *q, const char *name, char *problem,
                               int *status)
{
    int vote = read_vote(q, name);
    struct dev_view view;
    if (vote) {
        int64_t limit_ns = timer_now_ns() + MAJORITY_WAIT_MS * RL_NS_PER_MS;
        q->group->look(q, &view);
        while (view.owner[vote - 1] < 0 && timer_now_ns() < limit_ns) {
            dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
            q->group->look(q, &view);
        }
        if (view.owner[vote - 1] >= 0)
            return &q->server[view.owner[vote - 1]];
        snprintf(problem, DEV_PROBLEM_MAX, "no majority of %s names a master%s%s",
                 q->group->electorate, q->group->votes > 1 ? " of " : "",
                 q->group->votes > 1 ? name : "");
        *status = EXIT_UNAVAILABLE;
        return NULL;
    }
    for (int i = 0; i < q->count; i++) {
        if (strcmp(q->server[i].name, name) == 0)
            return &q->server[i];
    }
    *status = explain_names(q, problem);
    return NULL;
}

/* `*s` is the new master afterwards. */
static int fail_over(struct dev_quorum *q, const char *name, struct dev_server **s,
                     char *problem)
{
    int status = EXIT_USAGE;
    bool is_cluster = q->group && q->group->votes > 1;
    struct dev_view view;
    if (!q->group)
        snprintf(problem, DEV_PROBLEM_MAX,
                 "these servers have no sentinels; `redlock dev --sentinel` has some, and "
                 "`redlock dev --cluster` fails over, too");
    else if (is_cluster && !*name)
        snprintf(problem, DEV_PROBLEM_MAX, "which master? `redlock dev failover v1`");
    else if (!is_cluster && *name)
        snprintf(problem, DEV_PROBLEM_MAX, "a Sentinel group has one master; leave out %s",
                 name);
    else if ((*s = find(q, is_cluster ? name : "master", problem, &status))) {
        int server = (int)(*s - q->server);
        q->group->look(q, &view);
        if (strcmp(view.role[server], "replica") == 0) {
            snprintf(problem, DEV_PROBLEM_MAX, "node %s is a replica of node %s", (*s)->name,
                     q->server[view.master_of[server]].name);
            return EXIT_USAGE;
        }
        status = dev_group_failover(q, &server, problem);
        *s = &q->server[server];
    }
    return status;
}

static int isolate(struct dev_quorum *q, struct dev_server *s, char *problem)
{
    if (q->group && q->group->has_bus)
        return act(q, s, "isolate", problem);
    snprintf(problem, DEV_PROBLEM_MAX,
             "these servers have no bus to be cut off from; those of `redlock dev --cluster` "
             "have one");
    return EXIT_USAGE;
}

static void answer_request(struct dev_quorum *q, const char *request, char *answer)
{
    struct dev_server *s = NULL; /* the one that the verb is about */
    struct dev_row rows[DEV_SERVERS_MAX];
    bool fresh = false, all = false;
    char verb[16] = "", name[16] = "", problem[DEV_PROBLEM_MAX] = "unknown verb";
    size_t used = 0;
    int status = EXIT_USAGE;
    sscanf(request, "%15s %15s", verb, name);
    if (strcmp(verb, "failover") == 0) {
        status = fail_over(q, name, &s, problem);
    } else if (strcmp(verb, "list") == 0) {
        status = 0;
        all = true;
    } else if (dev_verbs_know(verb)) {
        s = find(q, name, problem, &status);
        fresh = s && strcmp(verb, "start") == 0 && !q->group && !dev_server_is_up(s);
        if (s)
            status = strcmp(verb, "isolate") == 0 ? isolate(q, s, problem)
                                                  : act(q, s, verb, problem);
    }
    if (status) {
        snprintf(answer, DEV_ANSWER_MAX, "error %d %s\n", status, problem);
        return;
    }
    dev_rows(q, rows);
    for (int i = 0; i < q->count; i++) {
        if (all || s == &q->server[i])
            describe(&rows[i], answer, &used);
    }
    snprintf(answer + used, DEV_ANSWER_MAX - used, "%sok\n", fresh ? "fresh\n" : "");
}

void dev_verbs_serve(struct dev_quorum *q)
{
    char request[DEV_LINE_MAX], answer[DEV_ANSWER_MAX];
    int fd = dev_control_accept(q->control_fd, request);
    if (fd < 0)
        return;
    answer_request(q, request, answer);
    dev_control_answer(fd, answer);
}

static void print_table(const struct dev_row *rows, size_t count)
{
    static const char *const heading[] = {"#",     "QUORUM", "NODE", "ROLE",
                                          "VOTES", "STATE",  "PID",  NULL};
    struct table t;
    table_begin(&t, heading);
    for (size_t i = 0; i < count; i++) {
        char address[32], pid[24];
        bool up = strcmp(rows[i].state, "up") == 0;
        snprintf(address, sizeof address, "127.0.0.1:%d", rows[i].port);
        snprintf(pid, sizeof pid, "%ld", rows[i].pid);
        table_row(&t, TEXT_PLAIN,
                  (const char *[]){rows[i].name, rows[i].quorum, address, rows[i].role,
                                   rows[i].votes, rows[i].state, rows[i].pid ? pid : "-"});
        table_colour(&t, 5, up ? TEXT_GOOD : TEXT_BAD);
    }
    table_print(&t, "", stdout);
}

/* Reads the rows of an answer. Returns 0 or a status after a message. */
static int read_answer(char *answer, struct dev_row *rows, size_t *count, bool *fresh)
{
    char *rest = NULL;
    for (char *line = strtok_r(answer, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct dev_row row = {0};
        int status, text = 0;
        if (strcmp(line, "ok") == 0)
            return 0;
        if (strcmp(line, "fresh") == 0) {
            *fresh = true;
            continue;
        }
        if (sscanf(line, "error %d %n", &status, &text) == 1 && text > 0) {
            char safe[DEV_PROBLEM_MAX];
            rl_quote_safe(safe, sizeof safe, line + text);
            return message_fail(status, "%s", safe);
        }
        if (*count == DEV_SERVERS_MAX ||
            sscanf(line, "%15s %d %ld %11s %15s %11s %15s", row.name, &row.port, &row.pid,
                   row.state, row.role, row.votes, row.quorum) < 6)
            break;
        if (strcmp(row.role, "-") == 0)
            row.role[0] = '\0';
        if (strcmp(row.votes, "-") == 0)
            row.votes[0] = '\0';
        rows[(*count)++] = row;
    }
    return message_fail(EXIT_UNAVAILABLE, "`redlock dev` ended before it had answered");
}

int dev_verbs_run(const struct settings *s, const char *directory, const char *verb,
                  const char *name)
{
    char request[DEV_LINE_MAX], answer[DEV_ANSWER_MAX];
    struct dev_row rows[DEV_SERVERS_MAX];
    bool fresh = false, is_failover = strcmp(verb, "failover") == 0;
    size_t count = 0;
    int status, error;
    snprintf(request, sizeof request, "%s %.15s", verb, name ? name : "");
    error = dev_control_request(directory, request, answer);
    if (error) {
        char shown[RL_QUOTE_PATH_MAX];
        rl_quote_path(shown, directory);
        return message_fail(EXIT_UNAVAILABLE, "no `redlock dev` answers in %s: %s", shown,
                            strerror(error));
    }
    status = read_answer(answer, rows, &count, &fresh);
    if (status)
        return status;
    if (s->json) {
        struct rl_json j = {.out = stdout};
        message_json_success(&j);
        rl_json_string(&j, "dir", directory);
        dev_rows_json(&j, rows, count);
        rl_json_finish(&j);
    } else if (strcmp(verb, "list") == 0)
        print_table(rows, count);
    else if (count > 0)
        printf("%s %s (127.0.0.1:%d) is %s%s%s\n",
               strcmp(rows[0].role, "sentinel") == 0 ? "sentinel" : "node", rows[0].name,
               rows[0].port, is_failover ? "the master" : rows[0].state,
               is_failover && rows[0].votes[0] ? " of " : "", is_failover ? rows[0].votes : "");
    if (fresh && !s->json)
        message_warn(
            "it is empty and in quarantine: it votes after the longest TTL, or at once "
            "after `redlock init`, if nothing can be held on it");
    return message_flush();
}
