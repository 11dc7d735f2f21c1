/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/quorum.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "dev/bus.h"
#include "dev/control.h"
#include "dev/directory.h"
#include "dev/group.h"
#include "dev/verbs.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define START_LIMIT_MS 10000
#define START_TRIES 4 /* each on another port */
#define STOP_LIMIT_MS 2000
#define NODE_TIMEOUT_MS 2000 /* a busy machine is no reason to fail */

static void check_servers(struct dev_quorum *q)
{
    for (int i = 0; i < q->count; i++) {
        struct dev_server *s = &q->server[i];
        bool was_up = dev_server_is_up(s);
        if (child_check(&s->child, false))
            s->hung = true;
        if (!was_up || dev_server_is_up(s))
            continue;
        s->hung = false;
        if (s->ready && !s->ending)
            message_warn("%s %s (127.0.0.1:%d) ended by itself; `redlock dev start %s` brings "
                         "it back",
                         dev_server_kind(s), s->name, s->port.number, s->name);
    }
}

static void on_signals(struct dev_quorum *q)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (signal == SIGCHLD) {
            int stopped;
            check_servers(q);
            stopped = child_check(&q->command, false);
            if (stopped && child_stopped(&q->command, stopped))
                child_continue(&q->command);
        } else if (q->command.pid > 0 && signal == SIGCONT) {
            child_continue(&q->command);
        } else if (q->command.pid > 0) {
            child_signal(&q->command, signal);
        } else if (signals_is_stop(signal)) {
            signals_stop_self(signal);
        } else if (signals_is_fatal(signal) && q->stop_signal == 0) {
            q->stop_signal = signal;
        }
    }
}

void dev_quorum_wait(struct dev_quorum *q, int wait_ms)
{
    struct pollfd watched = {.fd = q->signal_fd, .events = POLLIN};
    if (poll(&watched, 1, wait_ms) > 0)
        on_signals(q);
}

bool dev_quorum_await(struct dev_quorum *q, const struct dev_server *s, bool ended)
{
    int64_t limit_ns = timer_now_ns() + STOP_LIMIT_MS * RL_NS_PER_MS;
    while (dev_server_is_up(s) && (ended || !s->hung)) {
        int64_t left_ns = limit_ns - timer_now_ns();
        if (left_ns <= 0)
            return false;
        dev_quorum_wait(q, (int)(left_ns / RL_NS_PER_MS) + 1);
    }
    return true;
}

/* The last line of its log: why it ended, most likely. */
static void last_log_line(const struct dev_quorum *q, const struct dev_server *s, char *out,
                          size_t size)
{
    char line[512], last[512] = "nothing";
    FILE *log = dev_directory_read_log(q, s);
    while (log && fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            memcpy(last, line, sizeof last);
    }
    if (log)
        fclose(log);
    rl_quote_safe(out, size, last);
}

/* Waits until a server that was started answers. Returns 0 or an exit status. */
static int await_answer(struct dev_quorum *q, struct dev_server *s, char *problem)
{
    int64_t limit_ns = timer_now_ns() + START_LIMIT_MS * RL_NS_PER_MS;
    while (!dev_server_answers(s)) {
        if (timer_now_ns() > limit_ns) {
            snprintf(problem, DEV_PROBLEM_MAX, "%s %s does not answer after %d s",
                     dev_server_kind(s), s->name, START_LIMIT_MS / 1000);
            return EXIT_UNAVAILABLE;
        }
        dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
        if (q->stop_signal)
            return EXIT_SIGNAL + q->stop_signal;
        if (!dev_server_is_up(s)) {
            char words[DEV_PROBLEM_MAX / 2];
            last_log_line(q, s, words, sizeof words);
            snprintf(problem, DEV_PROBLEM_MAX, "%s %s ended at once on port %d; it printed: %s",
                     dev_server_kind(s), s->name, s->port.number, words);
            return EXIT_UNAVAILABLE;
        }
    }
    s->ready = true;
    return 0;
}

static int launch(struct dev_quorum *q, struct dev_server *s, char *problem)
{
    char state[DEV_PATH_MAX], config[DEV_PATH_MAX], log[DEV_FILE_MAX], shown[RL_QUOTE_MAX];
    int log_fd = dev_directory_open_log(q, s);
    int error;
    if (log_fd < 0) {
        bool foreign = errno == EEXIST || errno == ELOOP;
        dev_directory_log_name(s, log);
        snprintf(problem, DEV_PROBLEM_MAX, "cannot write the log %s: %s", log,
                 foreign ? "what has this name is not the file that was made here"
                         : strerror(errno));
        return EXIT_CONFIG;
    }
    dev_directory_state_path(q, state);
    dev_directory_config_path(q, s, config);
    error = q->group ? dev_server_start(s, q->program, state, config, log_fd)
                     : dev_server_start(s, q->program, q->directory, NULL, log_fd);
    close(log_fd);
    if (error == 0)
        return 0;
    rl_quote(shown, q->program);
    snprintf(problem, DEV_PROBLEM_MAX, "cannot run %s: %s", shown, strerror(error));
    return EXIT_CONFIG;
}

int dev_quorum_start(struct dev_quorum *q, struct dev_server *s, char *problem)
{
    int status = launch(q, s, problem);
    return status ? status : await_answer(q, s, problem);
}

static int reserve(struct dev_port *p, int port, char *problem)
{
    int error = dev_port_reserve(p, port);
    if (error == 0)
        return 0;
    if (port)
        snprintf(problem, DEV_PROBLEM_MAX, "port %d: %s", port, strerror(error));
    else
        snprintf(problem, DEV_PROBLEM_MAX, "no free port: %s", strerror(error));
    return port ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}

/* A server that could not start may have lost a race for its port: tries others. */
static int start_again(struct dev_quorum *q, struct dev_server *s, char *problem)
{
    int status = EXIT_UNAVAILABLE;
    for (int i = 1; i < START_TRIES && status == EXIT_UNAVAILABLE && !dev_server_is_up(s);
         i++) {
        status = reserve(&s->port, 0, problem);
        if (status == 0)
            status = dev_quorum_start(q, s, problem);
    }
    return status;
}

static int reserve_all(struct dev_quorum *q, int base_port, char *problem)
{
    int status = 0;
    for (int i = 0; i < q->count && status == 0; i++)
        status = reserve(&q->server[i].port, base_port ? base_port++ : 0, problem);
    for (int i = 0; q->group && q->group->has_bus && i < q->count && status == 0; i++) {
        status = reserve(&q->server[i].bus, base_port ? base_port++ : 0, problem);
        if (status == 0)
            status = reserve(&q->server[i].own_bus, base_port ? base_port++ : 0, problem);
    }
    return status;
}

/*
 * The master first, so that its replicas find it at once, then these, then the sentinels. None
 * moves to another port: the others know it by that.
 */
static int start_group(struct dev_quorum *q, char *problem)
{
    int status = dev_group_configure(q, problem);
    int error = status == 0 && q->group->has_bus ? dev_bus_start(q) : 0;
    if (error) {
        snprintf(problem, DEV_PROBLEM_MAX, "no bus: %s", strerror(error));
        status = EXIT_UNAVAILABLE;
    }
    for (int i = 0; i < q->count && status == 0; i++)
        status = dev_quorum_start(q, &q->server[i], problem);
    return status ? status : dev_group_await(q, problem);
}

static int start_all(struct dev_quorum *q, bool may_move, char *problem)
{
    int status = 0;
    for (int i = 0; i < q->count && status == 0; i++)
        status = launch(q, &q->server[i], problem);
    for (int i = 0; i < q->count && status == 0; i++) {
        struct dev_server *s = &q->server[i];
        status = await_answer(q, s, problem);
        if (status == EXIT_UNAVAILABLE && may_move && !dev_server_is_up(s))
            status = start_again(q, s, problem);
    }
    return status;
}

static void name_server(struct dev_quorum *q, int i)
{
    int servers = q->count - (q->group ? q->group->sentinels : 0);
    struct dev_server *s = &q->server[i];
    *s = (struct dev_server){.is_sentinel = i >= servers};
    s->port.fd = s->bus.fd = s->own_bus.fd = -1;
    s->number = s->is_sentinel ? i - servers + 1 : i + 1;
    snprintf(s->name, sizeof s->name, "%s%d", s->is_sentinel ? "s" : "", s->number);
}

int dev_quorum_open(struct dev_quorum *q, const char *directory, int base_port)
{
    char problem[DEV_PROBLEM_MAX] = "";
    int status;
    q->control_fd = q->directory_fd = -1;
    for (int i = 0; i < q->count; i++)
        name_server(q, i);
    status = dev_directory_make(q, directory);
    if (status)
        return status;
    status = reserve_all(q, base_port, problem);
    if (status == 0)
        status = q->group ? start_group(q, problem) : start_all(q, base_port == 0, problem);
    if (status)
        return q->stop_signal ? status : message_fail(status, "%s", problem);
    status = q->no_init ? 0 : dev_quorum_admit(q);
    if (status)
        return status;
    q->control_fd = dev_control_listen(q->directory_fd);
    if (q->control_fd < 0)
        return message_fail(EXIT_INTERNAL, "cannot make a socket in %.512s: %s", q->directory,
                            strerror(errno));
    return 0;
}

void dev_quorum_run(struct dev_quorum *q)
{
    struct pollfd watched[] = {
        {.fd = q->signal_fd, .events = POLLIN},
        {.fd = q->control_fd, .events = POLLIN},
    };
    bool commanded = q->command.pid > 0;
    while (commanded ? !q->command.ended : q->stop_signal == 0) {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return;
        if (watched[0].revents)
            on_signals(q);
        if (watched[1].revents)
            dev_verbs_serve(q);
    }
}

static void signal_servers(struct dev_quorum *q, int signal)
{
    for (int i = 0; i < q->count; i++) {
        struct dev_server *s = &q->server[i];
        s->ending = true;
        child_signal(&s->child, signal);
        child_signal(&s->child, SIGCONT);
    }
}

void dev_quorum_close(struct dev_quorum *q)
{
    bool all = true;
    if (q->control_fd >= 0)
        close(q->control_fd);
    q->control_fd = -1;
    signal_servers(q, SIGTERM);
    for (int i = 0; i < q->count && all; i++)
        all = dev_quorum_await(q, &q->server[i], true);
    signal_servers(q, SIGKILL);
    for (int i = 0; i < q->count; i++) {
        dev_quorum_await(q, &q->server[i], true);
        dev_port_release(&q->server[i].port);
        dev_port_release(&q->server[i].own_bus); /* the other one is the thread's */
    }
    dev_directory_remove(q);
}

void dev_quorum_nodes(const struct dev_quorum *q, char out[DEV_NODES_MAX])
{
    size_t used = 0;
    out[0] = '\0';
    if (q->group) {
        q->group->write_url(q, out);
        return;
    }
    for (int i = 0; i < q->count; i++) {
        char name[DEV_QUORUM_MAX] = "";
        bool first = q->quorums > 0 && i % (q->count / q->quorums) == 0;
        if (first)
            dev_quorum_name(q, &q->server[i], name);
        used += (size_t)snprintf(out + used, DEV_NODES_MAX - used, "%s%s%s127.0.0.1:%d",
                                 i == 0  ? ""
                                 : first ? ";"
                                         : ",",
                                 name, first ? "=" : "", q->server[i].port.number);
    }
}

void dev_quorum_name(const struct dev_quorum *q, const struct dev_server *s,
                     char out[DEV_QUORUM_MAX])
{
    out[0] = '\0';
    if (q->quorums > 0)
        snprintf(out, DEV_QUORUM_MAX, "q%d", (s->number - 1) / (q->count / q->quorums) + 1);
}

/* New servers look like servers that have just lost everything; these are known to be new. They
 * are named as the command will name them: their markers show which quorum they belong to. */
int dev_quorum_admit(const struct dev_quorum *q)
{
    struct settings s;
    redlock *client = NULL;
    char nodes[DEV_NODES_MAX];
    int status, error;
    dev_quorum_nodes(q, nodes);
    settings_init(&s);
    s.config.node_timeout_ms = NODE_TIMEOUT_MS;
    s.no_node_warnings = true;
    status = settings_set(&s, RL_SETTING_NODES, nodes)
                 ? message_fail(EXIT_INTERNAL, "out of memory")
                 : client_open(&s, &client);
    error = status ? REDLOCK_OK : redlock_admit(client, NULL);
    if (error != REDLOCK_OK)
        status = message_fail(exit_status_of(error), "the servers cannot be initialised: %s",
                              redlock_detail());
    redlock_close(client);
    settings_free(&s);
    return status;
}
