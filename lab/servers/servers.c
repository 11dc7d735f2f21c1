/* SPDX-License-Identifier: BSD-2-Clause */
#include "servers.h"

#include "check.h"
#include "clock.h"
#include "resp.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 96, REPLY_SIZE = 32768, REPLIES = 8 };

static int next_id;

#define MARKER_KEY "redlock.admit"

void server_init(struct server *s, const char *const *extra, const char *password)
{
    char dir[96];
    memset(s, 0, sizeof *s);
    s->id = next_id++;
    s->port = port_reserve();
    s->extra = extra;
    s->password = password;
    snprintf(s->socket_path, sizeof s->socket_path, "%s/s%d.sock", check_dir(), s->id);
    snprintf(dir, sizeof dir, "%s/s%d", check_dir(), s->id);
    if (mkdir(dir, 0700) != 0)
        FAIL("mkdir %s failed", dir);
}

static void become_server(const struct server *s, pid_t parent)
{
    char port[16], dir[96];
    const char *fixed[] = {
        "redis-server", "--bind",
        "127.0.0.1",    "-::1",
        "--unixsocket", s->socket_path,
        "--dir",        dir,
        "--save",       "",
        "--logfile",    "log",
        "--daemonize",  "no",
        "--port",       s->tls || s->closed ? "0" : port,
        NULL,
    };
    const char *argv[ARGS_MAX], *program;
    size_t count = 0;
    int log;
    snprintf(port, sizeof port, "%d", s->port.number);
    snprintf(dir, sizeof dir, "%s/s%d", check_dir(), s->id);
    for (size_t i = 0; fixed[i] != NULL; i++) {
        argv[count++] = fixed[i];
        if (i == 0 && s->config != NULL)
            argv[count++] = s->config;
    }
    if (s->tls && !s->closed) {
        argv[count++] = "--tls-port";
        argv[count++] = port;
    }
    for (size_t i = 0; s->extra != NULL && s->extra[i] != NULL && count + 1 < ARGS_MAX; i++)
        argv[count++] = s->extra[i];
    argv[count] = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (s->clock_path[0] != '\0') {
        setenv("LD_PRELOAD", SERVER_SHIM, 1);
        setenv("REDLOCK_TEST_CLOCK", s->clock_path, 1);
    }
    log = open("/dev/null", O_RDWR);
    dup2(log, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    program = getenv("REDLOCK_SERVER");
    if (program != NULL && program[0] != '\0')
        execvp(program, (char *const *)argv);
    execvp("redis-server", (char *const *)argv);
    execvp("valkey-server", (char *const *)argv);
    _exit(127);
}

void server_launch(struct server *s)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        FAIL("fork failed");
    if (pid == 0)
        become_server(s, parent);
    s->pid = pid;
}

static struct resp *eyes(const struct server *s)
{
    struct resp *r = resp_unix(s->socket_path);
    const char *auth[] = {"AUTH", s->password, NULL};
    char reply[256];
    if (r == NULL || s->password == NULL)
        return r;
    if (resp_send(r, auth) != 0 || resp_read(r, reply, sizeof reply) != 0) {
        resp_free(r);
        return NULL;
    }
    return r;
}

static bool answers(void *data)
{
    struct server *s = data;
    struct resp *r;
    char reply[256] = "";
    const char *ping[] = {"PING", NULL};
    bool up;
    if (waitpid(s->pid, NULL, WNOHANG) != 0)
        FAIL("server %d ended at once; is redis-server or valkey-server installed?", s->id);
    r = eyes(s);
    up = r != NULL && resp_send(r, ping) == 0 && resp_read(r, reply, sizeof reply) == 0 &&
         strcmp(reply, "PONG") == 0;
    resp_free(r);
    return up;
}

void server_ready(struct server *s)
{
    /* The unix socket is made after the port is bound: an answer here vouches for both. */
    if (!wait_until(answers, s))
        FAIL("server %d not ready after %d ms", s->id, GIVE_UP_MS);
}

void server_start(struct server *s, const char *const *extra)
{
    server_init(s, extra, NULL);
    server_launch(s);
    server_ready(s);
    server_admit(s);
}

static void end_with(struct server *s, int signal_number)
{
    if (s->pid == 0)
        return;
    kill(s->pid, signal_number);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
    unlink(s->socket_path);
}

void server_stop(struct server *s)
{
    end_with(s, SIGTERM);
}

void server_kill(struct server *s)
{
    end_with(s, SIGKILL);
}

void server_restart(struct server *s)
{
    server_kill(s);
    server_launch(s);
    server_ready(s);
}

void server_restart_admitted(struct server *s)
{
    char port[16];
    server_kill(s);
    s->closed = true;
    server_launch(s);
    server_ready(s);
    s->closed = false;
    server_admit(s);
    snprintf(port, sizeof port, "%d", s->port.number);
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", s->tls ? "tls-port" : "port", port, NULL));
}

void server_freeze(struct server *s)
{
    int status = 0;
    kill(s->pid, SIGSTOP);
    if (waitpid(s->pid, &status, WUNTRACED) != s->pid || !WIFSTOPPED(status))
        FAIL("server %d did not stop", s->id);
}

void server_thaw(struct server *s)
{
    int status = 0;
    kill(s->pid, SIGCONT);
    if (waitpid(s->pid, &status, WCONTINUED) != s->pid || !WIFCONTINUED(status))
        FAIL("server %d did not continue", s->id);
}

/* One field of an INFO section; empty when it is not there. */
static void info_field(struct resp *r, const char *section, const char *name, char out[64])
{
    char text[8192], head[64];
    const char *ask[] = {"INFO", section, NULL};
    const char *found;
    out[0] = '\0';
    if (resp_send(r, ask) != 0 || resp_read(r, text, sizeof text) != 0)
        return;
    snprintf(head, sizeof head, "\n%s:", name);
    found = strstr(text, head);
    if (found != NULL)
        sscanf(found + strlen(head), "%63[^\r\n]", out);
}

void server_admit(const struct server *s)
{
    char run_id[64], replid[64], id[160], reply[256];
    const char *choose[] = {"SELECT", s->db != NULL ? s->db : "0", NULL};
    const char *mark[] = {"HSET", MARKER_KEY, "id",
                          id,     "max_ttl",  s->max_ttl_ms != NULL ? s->max_ttl_ms : "60000",
                          NULL};
    struct resp *r = eyes(s);
    if (r == NULL)
        FAIL("server %d does not answer", s->id);
    info_field(r, "server", "run_id", run_id);
    info_field(r, "replication", "master_replid", replid);
    snprintf(id, sizeof id, "%s:%s", run_id, replid);
    if (resp_send(r, choose) != 0 || resp_read(r, reply, sizeof reply) != 0 ||
        resp_send(r, mark) != 0 || resp_read(r, reply, sizeof reply) != 0 || reply[0] == '-')
        FAIL("server %d cannot be admitted", s->id);
    resp_free(r);
}

static const char *command(const struct server *s, const char *const *argv)
{
    static _Thread_local char replies[REPLIES][REPLY_SIZE];
    static _Thread_local unsigned next;
    char *reply = replies[next++ % REPLIES];
    struct resp *r = eyes(s);
    if (r == NULL || resp_send(r, argv) != 0 || resp_read(r, reply, REPLY_SIZE) != 0)
        FAIL("server %d does not answer %s", s->id, argv[0]);
    resp_free(r);
    return reply;
}

const char *server_cmd(const struct server *s, const char *arg, ...)
{
    const char *argv[ARGS_MAX];
    va_list args;
    va_start(args, arg);
    resp_collect(argv, ARGS_MAX, arg, args);
    va_end(args);
    return command(s, argv);
}

long long server_int(const struct server *s, const char *arg, ...)
{
    const char *argv[ARGS_MAX], *reply;
    char *end = NULL;
    long long value;
    va_list args;
    va_start(args, arg);
    resp_collect(argv, ARGS_MAX, arg, args);
    va_end(args);
    reply = command(s, argv);
    value = strtoll(reply, &end, 10);
    if (end == reply || *end != '\0')
        FAIL("%s answered \"%s\", not a number", arg, reply);
    return value;
}

long long server_keys(const struct server *s)
{
    return server_int(s, "DBSIZE", NULL) - server_int(s, "EXISTS", MARKER_KEY, NULL);
}

int server_unread(const struct server *s)
{
    FILE *f = fopen("/proc/net/tcp", "r");
    char line[256];
    int count = 0;
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned int port, state, unread;
        /* sl local:port remote:port state tx:rx; those with another end than a listener's */
        if (sscanf(line, " %*u: %*x:%x %*x:%*x %x %*x:%x", &port, &state, &unread) == 3)
            count += (int)port == s->port.number && state != 0x0a && unread > 0;
    }
    fclose(f);
    return count;
}

int server_clients(const struct server *s)
{
    const char *list = server_cmd(s, "CLIENT", "LIST", "TYPE", "normal", NULL);
    int count = 0;
    for (const char *p = list; (p = strstr(p, "id=")) != NULL; p++)
        if (p == list || p[-1] == '\n')
            count++;
    return count - 1;
}

void server_forget_commands(const struct server *s)
{
    CHECK_STR("OK", server_cmd(s, "CONFIG", "RESETSTAT", NULL));
}

const char *server_commands(const struct server *s)
{
    static _Thread_local char out[4096];
    static const char *const own[] = {
        "config|resetstat", "info", "auth", "hmget", "time", NULL};
    const char *p = server_cmd(s, "INFO", "commandstats", NULL);
    size_t used = 0;
    out[0] = '\0';
    while ((p = strstr(p, "cmdstat_")) != NULL) {
        char name[64];
        long long calls = 0;
        bool skip = false;
        p += strlen("cmdstat_");
        if (sscanf(p, "%63[^:]:calls=%lld", name, &calls) != 2)
            continue;
        for (size_t i = 0; own[i] != NULL; i++)
            skip = skip || strcmp(name, own[i]) == 0;
        if (!skip && used < sizeof out)
            used += (size_t)snprintf(out + used, sizeof out - used, "%s %lld\n", name, calls);
    }
    return out;
}
