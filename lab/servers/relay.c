/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay.h"

#include "check.h"
#include "helper.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_MAX = 65536, LINE_MAX_BYTES = 4096, DEPTH_MAX = 4 };

/* One message as it came, to be passed on byte by byte. */
struct message {
    size_t size;
    char data[MESSAGE_MAX];
};

/* One client's connection and ours to the server on its behalf. */
struct pair {
    struct relay *relay;
    FILE *client;
    FILE *server; /* NULL: not connected */
    unsigned int random;
    int cuts_seen;
    struct message request, reply;
};

static FILE *connect_to(int port)
{
    int fd = port_connect(port);
    return fd >= 0 ? fdopen(fd, "r") : NULL;
}

/* Reads one RESP value of either direction; false when the peer is gone. */
static bool read_message(FILE *in, struct message *m, int depth)
{
    char line[LINE_MAX_BYTES];
    long count;
    size_t length;
    if (depth > DEPTH_MAX || fgets(line, sizeof line, in) == NULL)
        return false;
    length = strlen(line);
    if (m->size + length > sizeof m->data)
        return false;
    memcpy(m->data + m->size, line, length);
    m->size += length;
    count = atol(line + 1);
    if (line[0] == '$' && count >= 0) {
        size_t size = (size_t)count + 2;
        if (m->size + size > sizeof m->data || fread(m->data + m->size, 1, size, in) != size)
            return false;
        m->size += size;
    }
    for (long i = 0; line[0] == '*' && i < count; i++)
        if (!read_message(in, m, depth + 1))
            return false;
    return true;
}

static bool starts_with(const struct message *m, const char *text)
{
    return m->size >= strlen(text) && strncasecmp(m->data, text, strlen(text)) == 0;
}

static bool is_script(struct message *m)
{
    const char *name;
    m->data[m->size < MESSAGE_MAX ? m->size : MESSAGE_MAX - 1] = '\0';
    name = strchr(m->data, '\n');
    return name != NULL && (strncasecmp(name, "\n$7\r\nEVALSHA", 12) == 0 ||
                            strncasecmp(name, "\n$4\r\nEVAL\r\n", 11) == 0);
}

static bool is_acquire(struct message *m)
{
    if (starts_with(m, "*6\r\n$3\r\nSET\r\n"))
        return true;
    if (!is_script(m))
        return false;
    /* The usual one with a token: script, lock, fence counter, value, ttl, incarnation. */
    if (starts_with(m, "*8\r\n") && strstr(m->data, "\r\nredlock.fence") != NULL)
        return true;
    /* Of the others, those that acquire look at the marker alone. */
    return strstr(m->data, "\r\nredlock.admit\r\n") != NULL &&
           strstr(m->data, "redlock.probation") == NULL;
}

/* As often as the switch has it, of requests that `fit`. */
static bool strikes(struct pair *p, int percent, bool (*fit)(struct message *),
                    _Atomic int *count)
{
    if (percent == 0 || !fit(&p->request) || rand_r(&p->random) % 100 >= percent)
        return false;
    ++*count;
    return true;
}

/* The server's answer to the request is in p->reply; false without one. */
static bool forward_request(struct pair *p)
{
    if (p->server == NULL) {
        p->server = connect_to(p->relay->target);
        if (p->server == NULL)
            return false;
        p->relay->switches->hidden++;
    }
    p->reply.size = 0;
    if (helper_write(fileno(p->server), p->request.data, p->request.size) == 0 &&
        read_message(p->server, &p->reply, 0))
        return true;
    fclose(p->server);
    p->server = NULL;
    return false;
}

static void set_reply(struct pair *p, const char *text)
{
    p->reply.size = strlen(text);
    memcpy(p->reply.data, text, p->reply.size);
}

static void serve_pair(struct pair *p)
{
    struct relay_switches *w = p->relay->switches;
    for (;;) {
        p->request.size = 0;
        if (!read_message(p->client, &p->request, 0) || w->cut != p->cuts_seen)
            return;
        if (strikes(p, w->drop_percent, is_acquire, &w->dropped))
            set_reply(p, "-ERR lost on the way\r\n");
        else if (!forward_request(p)) {
            if (!w->keep)
                return;
            set_reply(p, "-ERR the server is away\r\n");
        }
        if (strikes(p, w->lose_percent, is_script, &w->lost))
            return;
        if (helper_write(fileno(p->client), p->reply.data, p->reply.size) != 0)
            return;
    }
}

static void serve(struct helper_connection *c)
{
    struct relay *r = c->argument;
    struct pair *p = calloc(1, sizeof *p);
    int yes = 1;
    if (p == NULL)
        _exit(1);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    p->relay = r;
    p->random = r->seed * 1000 + (unsigned int)c->number;
    p->cuts_seen = r->switches->cut;
    p->server = connect_to(r->target);
    p->client = fdopen(dup(c->fd), "r");
    if (p->server != NULL && p->client != NULL)
        serve_pair(p);
    if (p->server != NULL)
        fclose(p->server);
    if (p->client != NULL)
        fclose(p->client);
    free(p);
}

static void run(void *data)
{
    struct relay *r = data;
    helper_accept_loop(r->listener, serve, r);
}

void relay_start(struct relay *r, int target_port, unsigned int seed)
{
    *r = (struct relay){.port = port_reserve(), .target = target_port, .seed = seed};
    r->switches = helper_memory(sizeof *r->switches);
    snprintf(r->url, sizeof r->url, "redis://127.0.0.1:%d", r->port.number);
    r->listener = port_listen(&r->port);
    r->pid = helper_start(run, r);
    close(r->listener);
}

void relay_stop(struct relay *r)
{
    helper_stop(&r->pid);
}
