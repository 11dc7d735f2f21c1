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
#define TURNS 3 /* of 36 events, for 64 requests, and one that finds nothing */
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

static int open_echo(int listener)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event first = {.events = EPOLLIN, .data.u64 = LISTENER | (uint64_t)listener};

    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &first) != 0)
        err(1, "epoll");
    return epoll_fd;
}

/* One wait, and everything that it reports. */
static int echo(int epoll_fd, const char *answer, size_t answer_size, int timeout_ms)
{
    static char bytes[16384];
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(epoll_fd, events, EVENTS_MAX, timeout_ms);

    for (int i = 0; i < count; i++) {
        int fd = (int)(events[i].data.u64 & ~LISTENER);

        if (events[i].data.u64 & LISTENER)
            accept_one(epoll_fd, fd);
        else if (recv(fd, bytes, sizeof bytes, 0) <= 0 ||
                 send(fd, answer, answer_size, MSG_NOSIGNAL) < 0)
            close(fd);
    }
    return count;
}

pid_t floors_echo(const char *path, const char *answer, size_t answer_size)
{
    int fd = listen_at(path);
    pid_t pid = process_fork();

    if (pid == 0) {
        int epoll_fd = open_echo(fd);

        for (;;)
            echo(epoll_fd, answer, answer_size, -1);
    }
    close(fd);
    return pid;
}

static void serve_echo(struct floor *floor)
{
    while (echo(floor->epoll_fd, floor->answer, floor->answer_size, 0) > 0)
        continue;
}

void floors_echo_here(struct floor *floor, const char *path, const char *answer,
                      size_t answer_size)
{
    *floor = (struct floor){.serve = serve_echo,
                            .epoll_fd = open_echo(listen_at(path)),
                            .answer = answer,
                            .answer_size = answer_size};
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

/* For the rest of the process. */
static struct loop *open_http(int fd, const char *body, size_t body_size)
{
    static struct fixed fixed;
    static struct loop loop;
    struct http_handler handler = {&fixed, begin};
    struct http_options options = {0};
    struct http_server *server;

    fixed = (struct fixed){body, body_size};
    if (loop_init(&loop) < 0)
        err(1, "loop");
    server = http_server_new(&loop, &handler, &options);
    if (!server || http_server_listen(server, fd, 0, NULL, false) < 0)
        err(1, "server");
    return &loop;
}

pid_t floors_http(const char *path, const char *body, size_t body_size)
{
    int fd = listen_at(path);
    pid_t pid = process_fork();

    if (pid == 0)
        loop_run(open_http(fd, body, body_size));
    close(fd);
    return pid;
}

/* As many turns as a batch needs: answers leave with the events that bring the requests. */
static void serve_http(struct floor *floor)
{
    for (int i = 0; i < TURNS; i++)
        loop_turn(floor->loop, 0);
}

void floors_http_here(struct floor *floor, const char *path, const char *body, size_t body_size)
{
    *floor = (struct floor){.serve = serve_http,
                            .loop = open_http(listen_at(path), body, body_size)};
}
