/* SPDX-License-Identifier: BSD-2-Clause */
#include "evil.h"

#include "check.h"
#include "helper.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Enough that a client which buffers it all cannot hide it, little enough to be quick. */
enum { STREAM_BYTES_MAX = 64 << 20 };

const char *evil_name(enum evil_kind kind)
{
    static const char *const names[EVIL_KINDS] = {
        [EVIL_SILENT] = "silent",         [EVIL_DEAF] = "deaf",
        [EVIL_GARBAGE] = "garbage",       [EVIL_HTTP] = "http",
        [EVIL_HUGE_BULK] = "huge bulk",   [EVIL_HUGE_ARRAY] = "huge array",
        [EVIL_DEEP_ARRAY] = "deep array", [EVIL_ENDLESS_LINE] = "endless line",
        [EVIL_CLOSES] = "closes",         [EVIL_CHATTY] = "chatty",
    };
    return names[kind];
}

/* False when the client is gone. */
static bool read_request(int fd)
{
    char buffer[4096];
    return recv(fd, buffer, sizeof buffer, 0) > 0;
}

static void stream(struct evil_shared *shared, int fd, const char *head, const char *unit)
{
    char block[16384];
    size_t length = strlen(unit), used = 0;
    while (used + length <= sizeof block) {
        memcpy(block + used, unit, length);
        used += length;
    }
    if (!read_request(fd) || helper_write(fd, head, strlen(head)) != 0)
        return;
    for (long long sent = 0; sent < STREAM_BYTES_MAX; sent += (long long)used) {
        if (helper_write(fd, block, used) != 0)
            return;
        shared->sent += (long long)used;
    }
    while (read_request(fd))
        continue;
}

static void serve(struct helper_connection *c)
{
    static const char http[] = "HTTP/1.1 400 Bad Request\r\nServer: web\r\n"
                               "Content-Length: 4\r\nConnection: close\r\n\r\nbad\n";
    static const char garbage[] = "\x16\x03\x01\x00\xffSSH-2.0-\0\n\r\r\n!%&/()=?$\r\n*\r\n";
    struct evil *e = c->argument;
    e->shared->connections++;
    switch (e->kind) {
    case EVIL_SILENT:
        while (read_request(c->fd))
            continue;
        break;
    case EVIL_DEAF:
        for (;;)
            pause();
    case EVIL_GARBAGE:
        while (read_request(c->fd) && helper_write(c->fd, garbage, sizeof garbage) == 0)
            continue;
        break;
    case EVIL_HTTP:
        if (read_request(c->fd))
            helper_write(c->fd, http, sizeof http - 1);
        /* As web servers do: unread requests at the close would turn the page into a reset. */
        shutdown(c->fd, SHUT_WR);
        while (read_request(c->fd))
            continue;
        break;
    case EVIL_HUGE_BULK:
        stream(e->shared, c->fd, "$1073741824\r\n", "x");
        break;
    case EVIL_HUGE_ARRAY:
        stream(e->shared, c->fd, "*100000000\r\n", ":1\r\n");
        break;
    case EVIL_DEEP_ARRAY:
        stream(e->shared, c->fd, "*1\r\n", "*1\r\n");
        break;
    case EVIL_ENDLESS_LINE:
        stream(e->shared, c->fd, "+", "OK");
        break;
    case EVIL_CHATTY:
        helper_write(c->fd, "+OK\r\n", 5);
        while (read_request(c->fd) && helper_write(c->fd, "+OK\r\n+OK\r\n", 10) == 0)
            continue;
        break;
    case EVIL_CLOSES:
    case EVIL_KINDS:
        break;
    }
}

static void run(void *data)
{
    struct evil *e = data;
    helper_accept_loop(e->listener, serve, e);
}

void evil_start_on(struct evil *e, enum evil_kind kind, struct port port)
{
    *e = (struct evil){.kind = kind, .port = port};
    e->shared = helper_memory(sizeof *e->shared);
    snprintf(e->url, sizeof e->url, "redis://127.0.0.1:%d", port.number);
    /* Listening before the fork, so that no client can come too early. */
    e->listener = port_listen(&port);
    e->pid = helper_start(run, e);
    close(e->listener);
}

void evil_start(struct evil *e, enum evil_kind kind)
{
    evil_start_on(e, kind, port_reserve());
}

void evil_stop(struct evil *e)
{
    helper_stop(&e->pid);
}
