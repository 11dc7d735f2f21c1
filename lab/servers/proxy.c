/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy.h"

#include "check.h"
#include "clock.h"
#include "helper.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS_MAX = 64, READ_MAX = 16384 };

/* Bytes on their way, oldest first. */
struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t start, size;
    char data[];
};

struct flow {
    struct chunk *head, *tail;
};

/* One client's connection and ours to the server on its behalf. fd -1: free slot. */
struct link {
    int client, server;
    struct flow up, down;
    long long down_bytes;
};

struct state {
    struct proxy *proxy;
    int injections_done;
    struct link link[LINKS_MAX];
};

static void drop_flow(struct flow *f)
{
    while (f->head != NULL) {
        struct chunk *next = f->head->next;
        free(f->head);
        f->head = next;
    }
    f->tail = NULL;
}

static void drop_link(struct link *l)
{
    close(l->client);
    close(l->server);
    drop_flow(&l->up);
    drop_flow(&l->down);
    l->client = l->server = -1;
}

static void queue(struct flow *f, const char *data, size_t size, int delay_ms)
{
    struct chunk *c = malloc(sizeof *c + size);
    int64_t due_ns;
    if (c == NULL)
        _exit(1);
    due_ns = now_ns() + (int64_t)delay_ms * RL_NS_PER_MS;
    if (f->tail != NULL && f->tail->due_ns > due_ns)
        due_ns = f->tail->due_ns; /* a shorter delay does not overtake */
    *c = (struct chunk){.due_ns = due_ns, .size = size};
    memcpy(c->data, data, size);
    if (f->tail != NULL)
        f->tail->next = c;
    else
        f->head = c;
    f->tail = c;
}

/* Sends what is due; false when the other side is gone. */
static bool flush(struct flow *f, int fd, bool one_byte)
{
    while (f->head != NULL && f->head->due_ns <= now_ns()) {
        struct chunk *c = f->head;
        size_t size = one_byte ? 1 : c->size - c->start;
        if (helper_write(fd, c->data + c->start, size) != 0)
            return false;
        c->start += size;
        if (c->start < c->size) {
            c->due_ns = now_ns() + 200000;
            return true;
        }
        f->head = c->next;
        if (f->head == NULL)
            f->tail = NULL;
        free(c);
    }
    return true;
}

static void accept_link(struct state *s)
{
    int client = accept4(s->proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = client >= 0 ? port_connect(s->proxy->target) : -1;
    /* Two small writes must not wait for each other: what delays is on request. */
    int yes = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    s->proxy->switches->connections++;
    for (size_t i = 0; i < LINKS_MAX && server >= 0; i++) {
        if (s->link[i].client < 0) {
            s->link[i] = (struct link){.client = client, .server = server};
            return;
        }
    }
    close(server);
    close(client);
}

/* Reads from one side into the flow to the other; false when the link is to be dropped. */
static bool take_up(struct state *s, struct link *l)
{
    char buffer[READ_MAX];
    ssize_t n = recv(l->client, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    s->proxy->switches->up_bytes += n;
    queue(&l->up, buffer, (size_t)n, s->proxy->switches->up_delay_ms);
    return true;
}

static bool take_down(struct state *s, struct link *l)
{
    struct proxy_switches *w = s->proxy->switches;
    char buffer[READ_MAX];
    ssize_t n = recv(l->server, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    w->down_bytes += n;
    l->down_bytes += n;
    if (w->cut_after > 0 && l->down_bytes > w->cut_after) {
        long long keep = n - (l->down_bytes - w->cut_after);
        if (keep > 0)
            helper_write(l->client, buffer, (size_t)keep);
        return false;
    }
    if (!w->swallow)
        queue(&l->down, buffer, (size_t)n, w->down_delay_ms);
    return true;
}

static void serve_link(struct state *s, struct link *l, short client_events,
                       short server_events, bool inject)
{
    struct proxy_switches *w = s->proxy->switches;
    bool ok = true;
    if (client_events != 0)
        ok = take_up(s, l);
    if (ok && server_events != 0)
        ok = take_down(s, l);
    if (ok && inject)
        ok = helper_write(l->client, "+OK\r\n", 5) == 0;
    if (ok)
        ok = (w->hold_up || flush(&l->up, l->server, false)) &&
             (w->hold || flush(&l->down, l->client, w->trickle != 0));
    if (!ok)
        drop_link(l);
}

static void turn(struct state *s)
{
    struct proxy_switches *w = s->proxy->switches;
    struct pollfd fds[1 + 2 * LINKS_MAX];
    int cuts, injections;
    fds[0] = (struct pollfd){.fd = s->proxy->listener, .events = POLLIN};
    for (size_t i = 0; i < LINKS_MAX; i++) {
        fds[1 + 2 * i] = (struct pollfd){.fd = s->link[i].client, .events = POLLIN};
        fds[2 + 2 * i] = (struct pollfd){.fd = s->link[i].server, .events = POLLIN};
    }
    /* A millisecond is fine enough for delays and for noticing a turned switch. */
    poll(fds, 1 + 2 * LINKS_MAX, 1);
    cuts = w->cut;
    injections = w->inject;
    for (size_t i = 0; i < LINKS_MAX; i++) {
        if (s->link[i].client < 0)
            continue;
        if (cuts != w->cuts_done)
            drop_link(&s->link[i]);
        else
            serve_link(s, &s->link[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents,
                       injections != s->injections_done);
    }
    w->cuts_done = cuts;
    s->injections_done = injections;
    if (fds[0].revents != 0)
        accept_link(s);
}

static void run(void *data)
{
    static struct state state;
    helper_name("proxy");
    state.proxy = data;
    for (size_t i = 0; i < LINKS_MAX; i++)
        state.link[i].client = state.link[i].server = -1;
    for (;;)
        turn(&state);
}

void proxy_start(struct proxy *p, int target_port)
{
    *p = (struct proxy){.port = port_reserve(), .target = target_port};
    p->switches = helper_memory(sizeof *p->switches);
    snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d", p->port.number);
    p->listener = port_listen(&p->port);
    p->pid = helper_start(run, p);
    close(p->listener);
}

void proxy_before(struct proxy *p, struct cluster *c, size_t node)
{
    proxy_start(p, c->node[node].port.number);
    c->urls[node] = p->url;
}

void proxies_start(struct proxy *p, struct cluster *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        proxy_before(&p[i], c, i);
}

void proxy_stop(struct proxy *p)
{
    helper_stop(&p->pid);
}

void proxy_cut(struct proxy *p)
{
    p->switches->cut++;
    for (int i = 0; i < 2000 && p->switches->cuts_done != p->switches->cut; i++)
        sleep_ms(1);
}
