/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/control.h"
#include "dev/sentinels.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"

const char *const dev_verbs[] = {"kill", "start", "hang", "resume", "failover", "list", NULL};

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

struct dev_row dev_row_of(const struct dev_quorum *q, const struct dev_server *s,
                          const struct dev_server *master)
{
    struct dev_row row = {.port = s->port};
    const char *role = s->is_sentinel ? "sentinel"
                       : !master      ? "unknown"
                       : s == master  ? "master"
                                      : "replica";
    memcpy(row.name, s->name, sizeof row.name);
    if (q->sentinels)
        snprintf(row.role, sizeof row.role, "%s", role);
    row.pid = dev_server_is_up(s) ? s->child.pid : 0;
    snprintf(row.state, sizeof row.state, "%s", dev_server_state(s));
    dev_quorum_name(q, s, row.quorum);
    return row;
}

void dev_rows_json(struct json *j, const struct dev_row *rows, size_t count)
{
    json_array(j, "nodes");
    for (size_t i = 0; i < count; i++) {
        char address[32];
        snprintf(address, sizeof address, "127.0.0.1:%d", rows[i].port);
        json_object(j, NULL);
        json_integer(j, "number", strtol(rows[i].name + strspn(rows[i].name, "s"), NULL, 10));
        if (rows[i].role[0]) {
            json_string(j, "name", rows[i].name);
            json_string(j, "role", rows[i].role);
        }
        if (rows[i].quorum[0])
            json_string(j, "quorum_name", rows[i].quorum);
        json_string(j, "address", address);
        json_string(j, "state", rows[i].state);
        json_known(j, "pid", rows[i].pid ? rows[i].pid : -1);
        json_end_object(j);
    }
    json_end_array(j);
}

/* ---- in the process that runs the servers ------------------------------------------- */

/* Carries out one verb. A server that is in that state already is left alone. Returns 0 or a status with `problem`. */
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
    } else if (strcmp(verb, "hang") == 0) {
        child_signal(&s->child, SIGSTOP);
        in_time = dev_quorum_await(q, s, false);
    } else {
        child_signal(&s->child, SIGCONT);
        s->hung = false;
    }
    if (in_time)
        return 0;
    snprintf(problem, DEV_PROBLEM_MAX, "%s %s did not obey in time", dev_server_kind(s),
             s->name);
    return EXIT_UNAVAILABLE;
}

static void describe(const struct dev_quorum *q, const struct dev_server *s,
                     const struct dev_server *master, char *answer, size_t *used)
{
    struct dev_row row = dev_row_of(q, s, master);
    int length =
        snprintf(answer + *used, DEV_ANSWER_MAX - *used, "%s %d %ld %s %s %s\n", row.name,
                 row.port, row.pid, row.state, *row.role ? row.role : "-", row.quorum);
    *used += (size_t)length;
}

/* By its name, or as the master that there is at the moment. NULL with `problem` and a status. */
static struct dev_server *find(struct dev_quorum *q, const char *name, char *problem,
                               int *status)
{
    if (q->sentinels && strcmp(name, "master") == 0) {
        struct dev_server *master = dev_sentinels_master(q);
        *status = EXIT_UNAVAILABLE;
        if (!master)
            snprintf(problem, DEV_PROBLEM_MAX, "no majority of the sentinels names a master");
        return master;
    }
    *status = EXIT_USAGE;
    for (int i = 0; i < q->count; i++) {
        if (strcmp(q->server[i].name, name) == 0)
            return &q->server[i];
    }
    if (q->sentinels)
        snprintf(problem, DEV_PROBLEM_MAX,
                 "there is no such node; they are 1 to %d or master, and the sentinels s1 to "
                 "s%d",
                 q->count - q->sentinels, q->sentinels);
    else
        snprintf(problem, DEV_PROBLEM_MAX, "there is no such node; they are 1 to %d", q->count);
    return NULL;
}

static int fail_over(struct dev_quorum *q, char *problem)
{
    if (q->sentinels)
        return dev_sentinels_failover(q, problem);
    snprintf(problem, DEV_PROBLEM_MAX,
             "these servers have no sentinels; `redlock dev --sentinel` has some");
    return EXIT_USAGE;
}

static void answer_question(struct dev_quorum *q, const char *question, char *answer)
{
    struct dev_server *s = NULL; /* the one that the verb is about */
    bool fresh = false;
    char verb[16] = "", name[16] = "", problem[DEV_PROBLEM_MAX] = "unknown verb";
    size_t used = 0;
    int status = EXIT_USAGE;
    sscanf(question, "%15s %15s", verb, name);
    if (strcmp(verb, "failover") == 0) {
        status = fail_over(q, problem);
    } else if (strcmp(verb, "list") == 0) {
        status = 0;
    } else if (dev_verbs_know(verb)) {
        s = find(q, name, problem, &status);
        fresh = s && strcmp(verb, "start") == 0 && !q->sentinels && !dev_server_is_up(s);
        if (s)
            status = act(q, s, verb, problem);
    }
    if (status) {
        snprintf(answer, DEV_ANSWER_MAX, "error %d %s\n", status, problem);
        return;
    }
    const struct dev_server *master = q->sentinels ? dev_sentinels_master(q) : NULL;
    for (int i = 0; i < q->count; i++) {
        if (s ? s == &q->server[i] : strcmp(verb, "list") == 0 || &q->server[i] == master)
            describe(q, &q->server[i], master, answer, &used);
    }
    snprintf(answer + used, DEV_ANSWER_MAX - used, "%sok\n", fresh ? "fresh\n" : "");
}

void dev_verbs_serve(struct dev_quorum *q)
{
    char question[DEV_LINE_MAX], answer[DEV_ANSWER_MAX];
    int fd = dev_control_accept(q->control_fd, question);
    if (fd < 0)
        return;
    answer_question(q, question, answer);
    dev_control_answer(fd, answer);
}

/* ---- in the process that asks ------------------------------------------------------- */

static void print_table(const struct dev_row *rows, size_t count)
{
    static const char *const heading[] = {"#", "QUORUM", "NODE", "ROLE", "STATE", "PID", NULL};
    struct table t;
    table_begin(&t, heading);
    for (size_t i = 0; i < count; i++) {
        char address[32], pid[24];
        bool up = strcmp(rows[i].state, "up") == 0;
        snprintf(address, sizeof address, "127.0.0.1:%d", rows[i].port);
        snprintf(pid, sizeof pid, "%ld", rows[i].pid);
        table_row(&t);
        table_set(&t, 0, TEXT_PLAIN, rows[i].name);
        table_set(&t, 1, TEXT_PLAIN, rows[i].quorum);
        table_set(&t, 2, TEXT_PLAIN, address);
        table_set(&t, 3, TEXT_PLAIN, rows[i].role);
        table_set(&t, 4, up ? TEXT_GOOD : TEXT_BAD, rows[i].state);
        table_set(&t, 5, TEXT_PLAIN, rows[i].pid ? pid : "-");
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
            text_safe(safe, sizeof safe, line + text);
            return message_fail(status, "%s", safe);
        }
        if (*count == DEV_SERVERS_MAX ||
            sscanf(line, "%15s %d %ld %7s %15s %15s", row.name, &row.port, &row.pid, row.state,
                   row.role, row.quorum) < 5)
            break;
        if (strcmp(row.role, "-") == 0)
            row.role[0] = '\0';
        rows[(*count)++] = row;
    }
    return message_fail(EXIT_UNAVAILABLE, "`redlock dev` ended before it had answered");
}

int dev_verbs_ask(const struct settings *s, const char *directory, const char *verb,
                  const char *name)
{
    char question[DEV_LINE_MAX], answer[DEV_ANSWER_MAX];
    struct dev_row rows[DEV_SERVERS_MAX];
    bool fresh = false;
    size_t count = 0;
    snprintf(question, sizeof question, "%s %.15s", verb, name ? name : "");
    int error = dev_control_ask(directory, question, answer);
    if (error) {
        char shown[TEXT_PATH_MAX];
        text_path(shown, directory);
        return message_fail(EXIT_UNAVAILABLE, "no `redlock dev` answers in %s: %s", shown,
                            strerror(error));
    }
    int status = read_answer(answer, rows, &count, &fresh);
    if (status)
        return status;
    if (s->json) {
        struct json j = {.out = stdout};
        message_json_success(&j);
        json_string(&j, "dir", directory);
        dev_rows_json(&j, rows, count);
        json_finish(&j);
    } else if (strcmp(verb, "list") == 0)
        print_table(rows, count);
    else if (count > 0)
        printf("%s %s (127.0.0.1:%d) is %s\n",
               strcmp(rows[0].role, "sentinel") == 0 ? "sentinel" : "node", rows[0].name,
               rows[0].port, name ? rows[0].state : "the master");
    if (fresh && !s->json)
        message_warn(
            "it is empty and in quarantine: it votes after the longest TTL, or at once "
            "after `redlock init`, if nothing can be held on it");
    return message_flush();
}
