/* SPDX-License-Identifier: BSD-2-Clause */
#include "floors.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/time.h"
#include "http/server.h"
#include "system/loop.h"
#include "system/sockets.h"

#define EVENTS_MAX 64
#define LISTENER UINT32_MAX

static int listen_at(const char *path)
{
    char address[256], why[256];
    int fd;

    snprintf(address, sizeof address, "unix:%s", path);
    fd = sockets_open(address, why, sizeof why);
    if (fd < 0)
        errx(1, "%s", why);
    return fd;
}

/* The child ends with the benchmark, whatever becomes of it. */
static pid_t start(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    return pid;
}

/* ---- E0 ------------------------------------------------------------------------------------ */

static void accept_one(int epoll_fd, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd >= 0)
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void echo(int listener, const char *answer, size_t answer_size)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event first = {.events = EPOLLIN, .data.u32 = LISTENER};
    static char bytes[16384];

    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &first);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

        for (int i = 0; i < count; i++) {
            if (events[i].data.u32 == LISTENER)
                accept_one(epoll_fd, listener);
            else if (recv(events[i].data.fd, bytes, sizeof bytes, 0) <= 0)
                close(events[i].data.fd);
            else if (send(events[i].data.fd, answer, answer_size, MSG_NOSIGNAL) < 0)
                close(events[i].data.fd);
        }
    }
}

pid_t floors_echo(const char *path, const char *answer, size_t answer_size)
{
    int fd = listen_at(path);
    pid_t pid = start();

    if (pid == 0)
        echo(fd, answer, answer_size);
    close(fd);
    return pid;
}

/* ---- E1 ------------------------------------------------------------------------------------ */

struct fixed {
    const char *body;
    size_t size;
};

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    const struct fixed *fixed = context;

    (void)request;
    http_answer(exchange, &(struct http_answer){.status = 201,
                                                .type = "application/json",
                                                .body = fixed->body,
                                                .body_size = fixed->size});
}

static void ended(void *context, struct http_exchange *exchange, void *user,
                  enum http_ended how)
{
    (void)context, (void)exchange, (void)user, (void)how;
}

static void serve(int fd, const char *body, size_t body_size)
{
    struct fixed fixed = {body, body_size};
    struct http_handler handler = {&fixed, begin, ended};
    struct http_options options = {0};
    struct http_server *server;
    struct loop loop;

    if (loop_init(&loop) < 0)
        err(1, "loop");
    server = http_server_new(&loop, &handler, &options);
    if (!server || http_server_listen(server, fd, 0, NULL) < 0)
        err(1, "server");
    loop_run(&loop);
}

pid_t floors_http(const char *path, const char *body, size_t body_size)
{
    int fd = listen_at(path);
    pid_t pid = start();

    if (pid == 0)
        serve(fd, body, body_size);
    close(fd);
    return pid;
}

int64_t floors_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec used;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        errx(1, "cannot read the processor time of a server");
    return (int64_t)used.tv_sec * RL_NS_PER_S + used.tv_nsec;
}
