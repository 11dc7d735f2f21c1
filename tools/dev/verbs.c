/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/control.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"

const char *const dev_verbs[] = {"kill", "start", "hang", "resume", "list", NULL};

bool dev_verbs_know(const char *word)
{
    for (const char *const *verb = dev_verbs; *verb; verb++) {
        if (strcmp(*verb, word) == 0)
            return true;
    }
    return false;
}

struct dev_row dev_row_of(const struct dev_quorum *q, const struct dev_server *s)
{
    struct dev_row row = {.number = s->number, .port = s->port};
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
        json_integer(j, "number", rows[i].number);
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
                 "node %d is hung; `redlock dev resume %d` lets it go on", s->number,
                 s->number);
        return EXIT_UNAVAILABLE;
    }
    if (strcmp(verb, "start") == 0)
        return up ? 0 : dev_quorum_start(q, s, problem);
    if (strcmp(verb, "kill") == 0) {
        s->ending = true;
        child_signal(&s->child, SIGKILL);
        in_time = dev_quorum_await(q, s, true);
    } else if (!up) {
        snprintf(problem, DEV_PROBLEM_MAX, "node %d is down; `redlock dev start %d` starts it",
                 s->number, s->number);
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
    snprintf(problem, DEV_PROBLEM_MAX, "node %d did not obey in time", s->number);
    return EXIT_UNAVAILABLE;
}

static void describe(const struct dev_quorum *q, const struct dev_server *s, char *answer,
                     size_t *used)
{
    struct dev_row row = dev_row_of(q, s);
    int length = snprintf(answer + *used, DEV_ANSWER_MAX - *used, "%d %d %ld %s %s\n",
                          row.number, row.port, row.pid, row.state, row.quorum);
    *used += (size_t)length;
}

static void answer_question(struct dev_quorum *q, const char *question, char *answer)
{
    bool fresh = false;
    char verb[16] = "", problem[DEV_PROBLEM_MAX] = "";
    int number = 0;
    size_t used = 0;
    int words = sscanf(question, "%15s %d", verb, &number);
    if (words < 1 || !dev_verbs_know(verb)) {
        snprintf(answer, DEV_ANSWER_MAX, "error %d unknown verb\n", EXIT_USAGE);
        return;
    }
    if (strcmp(verb, "list") == 0) {
        for (int i = 0; i < q->count; i++)
            describe(q, &q->server[i], answer, &used);
    } else if (number < 1 || number > q->count) {
        snprintf(answer, DEV_ANSWER_MAX, "error %d there is no such node; they are 1 to %d\n",
                 EXIT_USAGE, q->count);
        return;
    } else {
        struct dev_server *s = &q->server[number - 1];
        bool was_up = dev_server_is_up(s);
        int status = act(q, s, verb, problem);
        if (status) {
            snprintf(answer, DEV_ANSWER_MAX, "error %d %s\n", status, problem);
            return;
        }
        describe(q, s, answer, &used);
        fresh = strcmp(verb, "start") == 0 && !was_up;
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
    static const char *const heading[] = {"#", "QUORUM", "NODE", "STATE", "PID", NULL};
    struct table t;
    table_begin(&t, heading);
    for (size_t i = 0; i < count; i++) {
        char number[16], address[32], pid[24];
        bool up = strcmp(rows[i].state, "up") == 0;
        snprintf(number, sizeof number, "%d", rows[i].number);
        snprintf(address, sizeof address, "127.0.0.1:%d", rows[i].port);
        snprintf(pid, sizeof pid, "%ld", rows[i].pid);
        table_row(&t);
        table_set(&t, 0, TEXT_PLAIN, number);
        table_set(&t, 1, TEXT_PLAIN, rows[i].quorum);
        table_set(&t, 2, TEXT_PLAIN, address);
        table_set(&t, 3, up ? TEXT_GOOD : TEXT_BAD, rows[i].state);
        table_set(&t, 4, TEXT_PLAIN, rows[i].pid ? pid : "-");
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
        if (*count == DEV_SERVERS_MAX || sscanf(line, "%d %d %ld %7s %15s", &row.number,
                                                &row.port, &row.pid, row.state, row.quorum) < 4)
            break;
        rows[(*count)++] = row;
    }
    return message_fail(EXIT_UNAVAILABLE, "`redlock dev` ended before it had answered");
}

int dev_verbs_ask(const struct settings *s, const char *directory, const char *verb,
                  const char *number)
{
    char question[DEV_LINE_MAX], answer[DEV_ANSWER_MAX];
    struct dev_row rows[DEV_SERVERS_MAX];
    bool fresh = false;
    size_t count = 0;
    snprintf(question, sizeof question, "%s %.16s", verb, number ? number : "");
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
    } else if (!number)
        print_table(rows, count);
    else if (count > 0)
        printf("node %d (127.0.0.1:%d) is %s\n", rows[0].number, rows[0].port, rows[0].state);
    if (fresh && !s->json)
        message_warn(
            "it is empty and in quarantine: it votes after the longest TTL, or at once "
            "after `redlock init`, if nothing can be held on it");
    return message_flush();
}
