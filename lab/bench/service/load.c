/* SPDX-License-Identifier: BSD-2-Clause */
#include "floors.h"

#include <err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "io/clock.h"

#define EVENTS_MAX 256
#define PATIENCE_MS 20000

void load_open(struct load *load, const char *path, unsigned count)
{
    load->count = count;
    load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (load->epoll_fd < 0)
        err(1, "epoll");
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

        load->fds[i] = clients_connect(path);
        load->missing[i] = 0;
        if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, load->fds[i], &event) != 0)
            err(1, "epoll");
    }
}

void load_close(struct load *load)
{
    for (unsigned i = 0; i < load->count; i++)
        close(load->fds[i]);
    close(load->epoll_fd);
}

static void send_all(int fd, const char *bytes, size_t size)
{
    if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        err(1, "send");
}

static size_t receive(int fd, char *bytes, size_t size)
{
    ssize_t got = recv(fd, bytes, size, 0);

    if (got <= 0)
        err(1, "the server closed a connection");
    return (size_t)got;
}

uint64_t load_run(struct load *load, const char *request, size_t request_size,
                  size_t answer_size, int64_t duration_ns)
{
    int64_t end_ns = rl_now_ns() + duration_ns;
    uint64_t answers = 0;
    unsigned in_flight = load->count;

    for (unsigned i = 0; i < load->count; i++) {
        load->missing[i] = answer_size;
        send_all(load->fds[i], request, request_size);
    }
    while (in_flight > 0) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(load->epoll_fd, events, EVENTS_MAX, PATIENCE_MS);
        int64_t now_ns = rl_now_ns();

        if (count <= 0)
            errx(1, "no answer came");
        for (int k = 0; k < count; k++) {
            unsigned i = events[k].data.u32;
            char bytes[4096];

            load->missing[i] -= receive(load->fds[i], bytes, sizeof bytes);
            if (load->missing[i] > 0)
                continue;
            answers++;
            if (now_ns >= end_ns) {
                in_flight--;
                continue;
            }
            load->missing[i] = answer_size;
            send_all(load->fds[i], request, request_size);
        }
    }
    return answers;
}

size_t load_exchange(struct load *load, const char *request, size_t request_size, char *out,
                     size_t size)
{
    send_all(load->fds[0], request, request_size);
    return receive(load->fds[0], out, size);
}
