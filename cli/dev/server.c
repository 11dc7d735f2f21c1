/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system/path.h"
#include "ui/exit.h"
#include "ui/message.h"

#define PORT_LOWEST 10240
#define PORT_COUNT 20000 /* ends below 32768, where outgoing connections begin */
#define PORT_TRIES 200
#define ANSWER_WAIT_MS 1000
#define QUESTION_MAX_BYTES 128

static const char *install_command(void)
{
    static const struct {
        const char *program, *command;
    } managers[] = {
        {"apt-get", "apt-get install redis-server"},
        {"dnf", "dnf install valkey"},
        {"apk", "apk add redis"},
        {"pacman", "pacman -S valkey"},
        {"zypper", "zypper install redis"},
    };
    char found[DEV_PATH_MAX];
    for (size_t i = 0; i < sizeof managers / sizeof managers[0]; i++) {
        if (path_find(managers[i].program, false, found))
            return managers[i].command;
    }
    return managers[0].command;
}

bool dev_find_server(char out[DEV_PATH_MAX])
{
    if (path_find("redis-server", false, out) || path_find("valkey-server", false, out))
        return true;
    message_fail(EXIT_UNAVAILABLE,
                 "neither redis-server nor valkey-server is in PATH; install one with: %s%s",
                 geteuid() == 0 ? "" : "sudo ", install_command());
    return false;
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/*
 * Binds without listening. Others that bind the port with care are refused, while a server,
 * which sets SO_REUSEADDR, gets it: so the port stays ours while the server is down.
 */
static int reserve(int port)
{
    int yes = 1;
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error;
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

int dev_port_reserve(struct dev_port *p, int wanted)
{
    dev_port_release(p);
    for (int i = 0; i < PORT_TRIES; i++) {
        uint32_t random = 0;
        int port, fd;
        if (wanted == 0 && getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return errno;
        port = wanted ? wanted : PORT_LOWEST + (int)(random % PORT_COUNT);
        fd = reserve(port);
        if (fd >= 0) {
            *p = (struct dev_port){port, fd};
            return 0;
        }
        if (wanted || errno != EADDRINUSE)
            return errno;
    }
    return EADDRINUSE;
}

void dev_port_release(struct dev_port *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

int dev_server_start(struct dev_server *s, const char *program, const char *directory,
                     const char *config, int log_fd)
{
    char port[16];
    const char *const options[] = {
        "--port",       port, "--bind",      "127.0.0.1", "--save", "",
        "--appendonly", "no", "--daemonize", "no",        "--dir",  directory,
    };
    enum { OPTIONS = sizeof options / sizeof options[0] };
    const char *argv[OPTIONS + 4] = {program};
    size_t count = 1;
    if (config)
        argv[count++] = config;
    memcpy(argv + count, options, sizeof options);
    count += OPTIONS;
    if (s->is_sentinel)
        argv[count++] = "--sentinel";
    snprintf(port, sizeof port, "%d", s->port.number);
    s->hung = s->ready = s->ending = false;
    /* execvp() does not change its arguments; the cast is for its old-fashioned type. */
    return child_start(&s->child, (char *const *)argv, log_fd, -1);
}

/* The server itself, or one that a script in its place has started. */
static bool is_of_group(long pid, pid_t group)
{
    return pid == group || getpgid((pid_t)pid) == group;
}

/* A reply may end anywhere; that of the PING behind it is known. */
static bool converse(int fd, const char *request, char reply[DEV_REPLY_MAX])
{
    static const char end[] = "+PONG\r\n";
    const size_t end_length = sizeof end - 1;
    char line[QUESTION_MAX_BYTES];
    size_t used = 0;
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    int length = snprintf(line, sizeof line, "%s\r\nPING\r\n", request);
    if (send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
        return false;
    while (used + 1 < DEV_REPLY_MAX && poll(&watched, 1, ANSWER_WAIT_MS) > 0) {
        ssize_t got = recv(fd, reply + used, DEV_REPLY_MAX - 1 - used, 0);
        if (got <= 0)
            return false;
        used += (size_t)got;
        reply[used] = '\0';
        if (used >= end_length && strcmp(reply + used - end_length, end) == 0)
            return true;
    }
    return false;
}

bool dev_server_call(const struct dev_server *s, const char *request, char reply[DEV_REPLY_MAX])
{
    struct sockaddr_in address = loopback(s->port.number);
    /* On the loopback interface connect() answers at once, one way or the other. */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers;
    if (fd < 0)
        return false;
    answers = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              converse(fd, request, reply);
    close(fd);
    return answers;
}

bool dev_server_answers(const struct dev_server *s)
{
    static const char field[] = "\nprocess_id:";
    char reply[DEV_REPLY_MAX];
    const char *found = dev_server_call(s, "INFO server", reply) ? strstr(reply, field) : NULL;
    return found && is_of_group(strtol(found + sizeof field - 1, NULL, 10), s->child.pid);
}

const char *dev_server_kind(const struct dev_server *s)
{
    return s->is_sentinel ? "sentinel" : "node";
}

bool dev_server_is_up(const struct dev_server *s)
{
    return s->child.pid > 0 && !s->child.ended;
}

const char *dev_server_state(const struct dev_server *s)
{
    return !dev_server_is_up(s) ? "down" : s->hung ? "hung" : s->isolated ? "isolated" : "up";
}
