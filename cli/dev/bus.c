/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/bus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVERS_MAX 8
#define LINKS_MAX                                                                              \
    128 /* each server has two with each other one, and some that it is about to end */
#define CHUNK_BYTES 16384
#define SOURCE_NET 0x7f000100u
#define SOURCE_FORMAT "127.0.1.%d"

/* One direction of a link. It takes no more before all of it has been passed on. */
struct flow {
    size_t used, sent;
    char bytes[CHUNK_BYTES];
};

struct link {
    int fd[2];           /* of the server that connected, and of the other; -1: free */
    int number[2];       /* of these servers */
    struct flow flow[2]; /* what came from each of them */
};

static struct bus {
    int count;
    int listener[SERVERS_MAX], port[SERVERS_MAX]; /* to be found by others, and their own */
    struct link link[LINKS_MAX];
    atomic_uint cut; /* a bit for each number */
    int changed_fd;  /* wakes the thread when this has changed */
} bus;

void dev_bus_source(int number, char out[DEV_SOURCE_MAX])
{
    snprintf(out, DEV_SOURCE_MAX, SOURCE_FORMAT, number);
}

static bool is_cut(int number)
{
    return atomic_load(&bus.cut) >> number & 1;
}

static void end_link(struct link *l)
{
    for (int side = 0; side < 2; side++) {
        if (l->fd[side] >= 0)
            close(l->fd[side]);
        l->fd[side] = -1;
        l->flow[side].used = l->flow[side].sent = 0;
    }
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* On the loopback interface connect() answers at once. */
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void take_link(int server)
{
    struct sockaddr_in from = {0};
    socklen_t size = sizeof from;
    struct link *l = bus.link;
    int fd = accept4(bus.listener[server], (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
    uint32_t number;
    bool is_ours;
    if (fd < 0)
        return;
    while (l < bus.link + LINKS_MAX && l->fd[0] >= 0)
        l++;
    number = ntohl(from.sin_addr.s_addr) - SOURCE_NET;
    is_ours = number > 0 && number <= (uint32_t)bus.count && l < bus.link + LINKS_MAX;
    if (!is_ours || is_cut((int)number) || is_cut(server + 1)) {
        close(fd);
        return;
    }
    l->fd[0] = fd;
    l->fd[1] = connect_to(bus.port[server]);
    l->number[0] = (int)number;
    l->number[1] = server + 1;
    if (l->fd[1] < 0)
        end_link(l);
}

/* Nothing here waits: a server that hangs must not keep others from being read. */
static bool pass_on(struct link *l, int from, short ready)
{
    struct flow *f = &l->flow[from];
    ssize_t sent;
    if (f->used == 0 && ready) {
        ssize_t got = recv(l->fd[from], f->bytes, sizeof f->bytes, MSG_DONTWAIT);
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        f->used = (size_t)got;
    }
    if (f->used == 0)
        return true;
    sent =
        send(l->fd[!from], f->bytes + f->sent, f->used - f->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    f->sent += (size_t)sent;
    if (f->sent == f->used)
        f->used = f->sent = 0;
    return true;
}

static short events_of(const struct link *l, int side)
{
    return (short)((l->flow[side].used == 0 ? POLLIN : 0) |
                   (l->flow[!side].used > 0 ? POLLOUT : 0));
}

static void *run(void *data)
{
    struct pollfd watched[SERVERS_MAX + 2 * LINKS_MAX + 1];
    struct pollfd *changed = &watched[bus.count + 2 * LINKS_MAX];
    uint64_t times;
    (void)data;
    for (;;) {
        *changed = (struct pollfd){.fd = bus.changed_fd, .events = POLLIN};
        for (int i = 0; i < bus.count; i++)
            watched[i] = (struct pollfd){.fd = bus.listener[i], .events = POLLIN};
        for (int i = 0; i < LINKS_MAX; i++) {
            struct link *l = &bus.link[i];
            if (l->fd[0] >= 0 && (is_cut(l->number[0]) || is_cut(l->number[1])))
                end_link(l);
            for (int side = 0; side < 2; side++)
                watched[bus.count + 2 * i + side] =
                    (struct pollfd){.fd = l->fd[side], .events = events_of(l, side)};
        }
        if (poll(watched, (nfds_t)(bus.count + 2 * LINKS_MAX + 1), -1) <= 0 ||
            (changed->revents && read(bus.changed_fd, &times, sizeof times) > 0))
            continue;
        for (int i = 0; i < LINKS_MAX; i++) {
            struct link *l = &bus.link[i];
            const struct pollfd *w = &watched[bus.count + 2 * i];
            if (l->fd[0] >= 0 && (w[0].revents || w[1].revents) &&
                (!pass_on(l, 0, w[0].revents) || !pass_on(l, 1, w[1].revents)))
                end_link(l);
        }
        for (int i = 0; i < bus.count; i++)
            if (watched[i].revents)
                take_link(i);
    }
    return NULL;
}

int dev_bus_start(const struct dev_quorum *q)
{
    pthread_t thread;
    int error;
    bus.count = q->count;
    bus.changed_fd = eventfd(0, EFD_CLOEXEC);
    if (bus.changed_fd < 0)
        return errno;
    for (int i = 0; i < LINKS_MAX; i++)
        bus.link[i].fd[0] = bus.link[i].fd[1] = -1;
    for (int i = 0; i < q->count; i++) {
        bus.listener[i] = q->server[i].bus.fd;
        bus.port[i] = q->server[i].own_bus.number;
        if (listen(bus.listener[i], SOMAXCONN) != 0)
            return errno;
    }
    error = pthread_create(&thread, NULL, run, NULL);
    return error ? error : pthread_detach(thread);
}

void dev_bus_cut(int number, bool cut)
{
    if (cut)
        atomic_fetch_or(&bus.cut, 1u << number);
    else
        atomic_fetch_and(&bus.cut, ~(1u << number));
    eventfd_write(bus.changed_fd, 1);
}
