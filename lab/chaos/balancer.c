/* SPDX-License-Identifier: BSD-2-Clause */
#include "replicas.h"

#include "random.h"

#include "check.h"
#include "clock.h"
#include "helper.h"
#include "unix_socket.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MESSAGE_MAX = 8192,
    PATIENCE_MS = 60000, /* for a connection, whatever it does */
    DROPPED_EVERY = 10,  /* answers */
    DELAY_MAX_MS = 250,
    LATE_COPY_MAX_MS = 600,
};

/* A request on its way. */
struct passage {
    struct balancer *balancer;
    uint64_t random;
    int client; /* -1: a copy, whose answer is thrown away */
    int64_t delay_ms;
    size_t size;
    char request[MESSAGE_MAX];
};

static bool one_in(struct passage *p, int n)
{
    return p->balancer->switches->lossy && random_between(&p->random, 1, n) == 1;
}

/* A connection is for one request, also that of a client that would keep it. */
static bool close_after(struct passage *p)
{
    static const char field[] = "\r\nConnection: close";
    char *at = strstr(p->request, "\r\n");
    if (strstr(p->request, field) != NULL)
        return true;
    if (p->size + sizeof field > MESSAGE_MAX)
        return false;
    memmove(at + sizeof field - 1, at, p->size + 1 - (size_t)(at - p->request));
    memcpy(at, field, sizeof field - 1);
    p->size += sizeof field - 1;
    return true;
}

/* Until the head and its body are there. */
static bool read_request(struct passage *p)
{
    for (;;) {
        struct pollfd poller = {p->client, POLLIN, 0};
        size_t body;
        const char *end, *length;
        ssize_t got;
        if (poll(&poller, 1, PATIENCE_MS) <= 0)
            return false;
        got = recv(p->client, p->request + p->size, MESSAGE_MAX - 1 - p->size, 0);
        if (got <= 0)
            return false;
        p->size += (size_t)got;
        p->request[p->size] = '\0';
        end = strstr(p->request, "\r\n\r\n");
        length = strstr(p->request, "\r\nContent-Length: ");
        if (end == NULL)
            continue;
        body = length != NULL && length < end ? strtoul(length + 18, NULL, 10) : 0;
        if (p->size >= (size_t)(end + 4 - p->request) + body)
            return close_after(p);
    }
}

/* Any replica that accepts; -1: none does. */
static int connect_any(struct passage *p, int *replica)
{
    int first = (int)random_between(&p->random, 0, REPLICAS - 1), fd = -1;
    for (int i = 0; i < REPLICAS && fd < 0; i++) {
        *replica = (first + i) % REPLICAS;
        fd = unix_connect(p->balancer->replica[*replica], SOCK_STREAM);
    }
    return fd;
}

/* All of it, up to its end; 0: none. The client's end is passed on, unless it is hidden. */
static size_t read_answer(struct passage *p, int fd, char *answer, bool hidden)
{
    size_t size = 0;
    for (;;) {
        struct pollfd pollers[2] = {{fd, POLLIN, 0}, {hidden ? -1 : p->client, POLLRDHUP, 0}};
        ssize_t got;
        if (poll(pollers, 2, PATIENCE_MS) <= 0 || pollers[1].revents != 0)
            return 0;
        got = recv(fd, answer + size, MESSAGE_MAX - 1 - size, 0);
        if (got <= 0)
            return size;
        size += (size_t)got;
    }
}

/* True: the answer was a grant, and its replica is dead. */
static bool kill_at_grant(struct passage *p, int replica, const char *answer, size_t size)
{
    struct balancer_switches *s = p->balancer->switches;
    int pid;
    if (size < 12 || memcmp(answer, "HTTP/1.1 201", 12) != 0 ||
        !atomic_exchange(&s->kill_at_grant[replica], 0))
        return false;
    pid = atomic_load(&s->pid[replica]);
    if (pid > 0)
        kill(pid, SIGKILL);
    s->killed++;
    return true;
}

static void pass(struct passage *p)
{
    struct balancer_switches *s = p->balancer->switches;
    char answer[MESSAGE_MAX];
    int replica = 0;
    bool hidden;
    int fd;
    sleep_ms(p->delay_ms);
    fd = connect_any(p, &replica);
    if (fd < 0)
        return;
    hidden = p->client < 0 || one_in(p, 10);
    s->hidden += hidden && p->client >= 0;
    if (send(fd, p->request, p->size, MSG_NOSIGNAL) == (ssize_t)p->size) {
        size_t size = read_answer(p, fd, answer, hidden);
        bool dropped = size == 0 || kill_at_grant(p, replica, answer, size);
        if (p->client >= 0 && !dropped && s->lossy && ++s->requests % DROPPED_EVERY == 0) {
            s->dropped++;
            dropped = true;
        }
        if (p->client >= 0 && !dropped) {
            if (one_in(p, 5))
                sleep_ms(random_between(&p->random, 1, DELAY_MAX_MS));
            send(p->client, answer, size, MSG_NOSIGNAL);
        }
    }
    close(fd);
}

static void *pass_copy(void *data)
{
    pass(data);
    free(data);
    return NULL;
}

static void send_copy(const struct passage *p)
{
    struct passage *copy = malloc(sizeof *copy);
    pthread_t thread;
    if (copy == NULL)
        return;
    *copy = *p;
    copy->client = -1;
    copy->random ^= 0x5bd1e995;
    copy->delay_ms = random_between(&copy->random, 0, LATE_COPY_MAX_MS);
    if (pthread_create(&thread, NULL, pass_copy, copy) == 0)
        pthread_detach(thread);
    else
        free(copy);
}

/* One request per connection. */
static void serve(struct helper_connection *connection)
{
    struct balancer *b = connection->argument;
    struct passage p = {.balancer = b, .client = connection->fd};
    p.random = b->seed ^ (uint64_t)connection->number * 0x9e3779b97f4a7c15u;
    if (!read_request(&p))
        return;
    if (one_in(&p, 10)) {
        b->switches->doubled++;
        send_copy(&p);
    }
    if (one_in(&p, 5)) {
        b->switches->delayed++;
        p.delay_ms = random_between(&p.random, 1, DELAY_MAX_MS);
    }
    pass(&p);
}

static void run(void *data)
{
    struct balancer *b = data;
    helper_name("balancer");
    signal(SIGPIPE, SIG_IGN);
    helper_accept_loop(b->listener, serve, b);
}

void balancer_start(struct balancer *b, const char *dir, uint64_t seed)
{
    snprintf(b->path, sizeof b->path, "%s/balancer", dir);
    b->seed = seed;
    b->listener = unix_listen(b->path, SOCK_STREAM);
    CHECK(b->listener >= 0);
    b->helper = helper_start(run, b);
    close(b->listener);
}

void balancer_stop(struct balancer *b)
{
    helper_stop(&b->helper);
}
