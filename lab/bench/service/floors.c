/* SPDX-License-Identifier: BSD-2-Clause */
#include "floors.h"

#include <err.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server.h"
#include "processes.h"
#include "system/loop.h"
#include "system/sockets.h"

#define EVENTS_MAX 64
#define LISTENER (UINT64_C(1) << 32) /* marks the event of the listening socket */

static int listen_at(const char *path)
{
    char address[256], why[256];
    int fd;

    snprintf(address, sizeof address, "unix:%s", path);
    fd = sockets_open(address, 0600, NULL, why, sizeof why);
    if (fd < 0)
        errx(1, "%s", why);
    return fd;
}

static void accept_one(int epoll_fd, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)fd};

    if (fd >= 0)
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Everything that one wait reports. */
static void echo(int epoll_fd, const char *answer, size_t answer_size)
{
    static char bytes[16384];
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

    for (int i = 0; i < count; i++) {
        int fd = (int)(events[i].data.u64 & ~LISTENER);

        if (events[i].data.u64 & LISTENER)
            accept_one(epoll_fd, fd);
        else if (recv(fd, bytes, sizeof bytes, 0) <= 0 ||
                 send(fd, answer, answer_size, MSG_NOSIGNAL) < 0)
            close(fd);
    }
}

pid_t floors_echo(const char *path, const char *answer, size_t answer_size)
{
    int fd = listen_at(path);
    struct epoll_event first = {.events = EPOLLIN, .data.u64 = LISTENER | (uint64_t)fd};
    pid_t pid = process_fork();

    if (pid == 0) {
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

        if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &first) != 0)
            err(1, "epoll");
        for (;;)
            echo(epoll_fd, answer, answer_size);
    }
    close(fd);
    return pid;
}

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

pid_t floors_http(const char *path, const char *body, size_t body_size)
{
    static struct loop loop;
    struct fixed fixed = {body, body_size};
    struct http_handler handler = {&fixed, begin};
    struct http_options options = {0};
    int fd = listen_at(path);
    pid_t pid = process_fork();

    if (pid == 0) {
        struct http_server *server;

        if (loop_init(&loop) < 0)
            err(1, "loop");
        server = http_server_new(&loop, &handler, &options);
        if (!server || http_server_listen(server, fd, 0, NULL, false) < 0)
            err(1, "server");
        loop_run(&loop);
    }
    close(fd);
    return pid;
}
