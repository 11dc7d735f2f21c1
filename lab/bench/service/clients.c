/* SPDX-License-Identifier: BSD-2-Clause */
#include "clients.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/clock.h"

#define PATIENCE_MS 60000

int clients_try(const char *address)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in place = {.sin_family = AF_INET};
    bool is_unix = address[0] == '/';
    int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    int status;

    if (is_unix) {
        snprintf(path.sun_path, sizeof path.sun_path, "%s", address);
        status = connect(fd, (struct sockaddr *)&path, sizeof path);
    } else {
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
        status = connect(fd, (struct sockaddr *)&place, sizeof place);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (status == 0)
        return fd;
    close(fd);
    return -1;
}

int clients_connect(const char *address)
{
    int fd = clients_try(address);

    if (fd < 0)
        err(1, "connect to %s", address);
    return fd;
}

void clients_open(struct clients *callers, const char *address, unsigned count)
{
    static unsigned serial;

    *callers = (struct clients){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .count = count};
    if (callers->epoll_fd < 0)
        err(1, "epoll");
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        struct http_client *caller = &callers->caller[i];

        caller->index = i;
        caller->serial = ++serial;
        caller->fd = clients_connect(address);
        if (epoll_ctl(callers->epoll_fd, EPOLL_CTL_ADD, caller->fd, &event) != 0)
            err(1, "epoll");
    }
}

void clients_close(struct clients *callers)
{
    for (unsigned i = 0; i < callers->count; i++)
        close(callers->caller[i].fd);
    close(callers->epoll_fd);
}

/* True: the answer is whole. */
static bool parse(char *bytes, size_t got, int *status, char **body)
{
    char *end, *length;

    bytes[got] = '\0';
    end = strstr(bytes, "\r\n\r\n");
    if (!end)
        return false;
    *end = '\0';
    length = strcasestr(bytes, "\r\nContent-Length:");
    *status = got > 12 ? atoi(bytes + 9) : 0;
    *body = end + 4;
    if (length && got - (size_t)(*body - bytes) < strtoul(length + 17, NULL, 10)) {
        *end = '\r';
        return false;
    }
    if (!length && *status != 204)
        errx(1, "an answer without a length: %s", bytes);
    return true;
}

static void send_all(int fd, const char *bytes, size_t size)
{
    if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        err(1, "send");
}

static void receive(int fd, char *bytes, size_t size, size_t *got)
{
    ssize_t count = recv(fd, bytes + *got, size - 1 - *got, 0);

    if (count <= 0)
        errx(1, "the server closed a connection");
    *got += (size_t)count;
}

int clients_exchange(int fd, const char *request, size_t size, char *body, size_t body_size)
{
    static char bytes[65536];
    size_t got = 0;
    char *at = NULL;
    int status = 0;

    send_all(fd, request, size);
    do
        receive(fd, bytes, sizeof bytes, &got);
    while (!parse(bytes, got, &status, &at));
    snprintf(body, body_size, "%s", at);
    return status;
}

static void send_step(struct http_client *caller, const struct cycle *cycle)
{
    char request[2048];
    size_t size = cycle->write(caller, caller->step, request, sizeof request);

    caller->got = 0;
    caller->sent_ns = rl_now_ns();
    if (caller->step == 0)
        caller->began_ns = caller->sent_ns;
    send_all(caller->fd, request, size);
}

/* The whole answer is there. True: the cycle is over. */
static bool end_step(struct http_client *caller, const struct cycle *cycle, int status,
                     const char *body, struct clients_result *result)
{
    int64_t now_ns = rl_now_ns();

    if (cycle->take)
        cycle->take(caller, caller->step, status, body);
    if (caller->step == 0)
        latency_add(&result->first, now_ns - caller->sent_ns);
    if (++caller->step < cycle->steps)
        return false;
    caller->step = 0;
    caller->number++;
    result->cycles++;
    latency_add(&result->cycle, now_ns - caller->began_ns);
    return true;
}

void clients_run(struct clients *callers, const struct cycle *cycle, int64_t duration_ns,
                 struct clients_result *result)
{
    int64_t from_ns = rl_now_ns(), end_ns = from_ns + duration_ns;
    unsigned busy = callers->count;

    for (unsigned i = 0; i < callers->count; i++)
        send_step(&callers->caller[i], cycle);
    while (busy > 0) {
        struct epoll_event events[CLIENTS_MAX];
        int count = epoll_wait(callers->epoll_fd, events, CLIENTS_MAX, PATIENCE_MS);

        if (count <= 0)
            errx(1, "%s: no answer came", cycle->name);
        for (int k = 0; k < count; k++) {
            struct http_client *caller = &callers->caller[events[k].data.u32];
            int status = 0;
            char *body = NULL;

            receive(caller->fd, caller->bytes, sizeof caller->bytes, &caller->got);
            if (cycle->answer_size > 0 ? caller->got < cycle->answer_size
                                       : !parse(caller->bytes, caller->got, &status, &body))
                continue;
            if (end_step(caller, cycle, status, body, result) && rl_now_ns() >= end_ns)
                busy--;
            else
                send_step(caller, cycle);
        }
    }
    result->seconds += (double)(rl_now_ns() - from_ns) / 1e9;
}
