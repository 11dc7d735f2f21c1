/* SPDX-License-Identifier: BSD-2-Clause */
#include "resp.h"

#include "unix_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct resp *resp_fd(int fd)
{
    struct timeval limit = {.tv_sec = 10};
    struct resp *r;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    r = calloc(1, sizeof *r);
    if (r == NULL) {
        close(fd);
        return NULL;
    }
    r->fd = fd;
    return r;
}

struct resp *resp_unix(const char *path)
{
    int fd = unix_connect(path, SOCK_STREAM);
    return fd >= 0 ? resp_fd(fd) : NULL;
}

static int connect_tcp(const char *host, const char *service)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int fd = -1, on = 1;
    if (getaddrinfo(host, service, &hints, &list) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

struct resp *resp_tcp(const char *host, int port)
{
    char service[16];
    int fd;
    snprintf(service, sizeof service, "%d", port);
    fd = connect_tcp(host, service);
    return fd >= 0 ? resp_fd(fd) : NULL;
}

struct resp *resp_url(const char *url)
{
    char host[256], port[8] = "6379";
    const char *at;
    bool bracketed;
    size_t length;
    if (strncmp(url, "unix://", 7) == 0)
        return resp_unix(url + 7);
    at = strncmp(url, "redis://", 8) == 0 ? url + 8 : url;
    bracketed = *at == '[';
    length = strcspn(at += bracketed, bracketed ? "]" : ":/@");
    if (length > 0 && length < sizeof host && (!bracketed || at[length] == ']')) {
        snprintf(host, sizeof host, "%.*s", (int)length, at);
        at += length + bracketed;
        if (*at == ':') {
            length = strspn(at + 1, "0123456789");
            snprintf(port, sizeof port, "%.*s", (int)length, at + 1);
            at += length + 1;
        }
        if (*at == '\0' || strcmp(at, "/") == 0 || strcmp(at, "/0") == 0) {
            int fd = connect_tcp(host, port);
            return fd >= 0 ? resp_fd(fd) : NULL;
        }
    }
    errno = EINVAL;
    return NULL;
}

void resp_free(struct resp *r)
{
    if (r == NULL)
        return;
    close(r->fd);
    free(r);
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, data, length, MSG_NOSIGNAL);
        if (n <= 0)
            return -1;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

size_t resp_encode(char *out, size_t size, const char *const *argv)
{
    size_t count = 0;
    size_t used;
    while (argv[count] != NULL)
        count++;
    used = (size_t)snprintf(out, size, "*%zu\r\n", count);
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "$%zu\r\n%s\r\n", strlen(argv[i]),
                                 argv[i]);
    return used < size ? used : 0;
}

int resp_send(struct resp *r, const char *const *argv)
{
    size_t size = 32;
    int result;
    char *text;
    for (size_t i = 0; argv[i] != NULL; i++)
        size += strlen(argv[i]) + 32;
    text = malloc(size);
    if (text == NULL)
        return -1;
    result = write_all(r->fd, text, resp_encode(text, size, argv));
    free(text);
    return result;
}

static int next_byte(struct resp *r)
{
    if (r->start == r->end) {
        ssize_t n = recv(r->fd, r->buffer, sizeof r->buffer, 0);
        if (n <= 0)
            return -1;
        r->start = 0;
        r->end = (size_t)n;
    }
    return (unsigned char)r->buffer[r->start++];
}

/* Without the line end. */
static int read_line(struct resp *r, char *line, size_t size)
{
    size_t used = 0;
    for (;;) {
        int c = next_byte(r);
        if (c < 0)
            return -1;
        if (c == '\n')
            break;
        if (c != '\r' && used + 1 < size)
            line[used++] = (char)c;
    }
    line[used] = '\0';
    return 0;
}

struct sink {
    char *out;
    size_t size, used;
};

static void put(struct sink *s, const char *text, size_t length)
{
    for (size_t i = 0; i < length && s->used + 1 < s->size; i++)
        s->out[s->used++] = text[i];
    s->out[s->used] = '\0';
}

static int read_bulk(struct resp *r, long length, struct sink *s)
{
    if (length < 0) {
        put(s, "(nil)", 5);
        return 0;
    }
    for (long i = 0; i < length + 2; i++) {
        int c = next_byte(r);
        char byte;
        if (c < 0)
            return -1;
        byte = (char)c;
        if (i < length)
            put(s, &byte, 1);
    }
    return 0;
}

static int read_value(struct resp *r, struct sink *s)
{
    char line[512];
    if (read_line(r, line, sizeof line) != 0)
        return -1;
    switch (line[0]) {
    case '+':
    case ':':
        put(s, line + 1, strlen(line + 1));
        return 0;
    case '-':
        put(s, line, strlen(line));
        return 0;
    case '$':
        return read_bulk(r, atol(line + 1), s);
    case '*':
        for (long i = 0, n = atol(line + 1); i < n; i++) {
            if (i > 0)
                put(s, "\n", 1);
            if (read_value(r, s) != 0)
                return -1;
        }
        return 0;
    default:
        return -1;
    }
}

int resp_read(struct resp *r, char *out, size_t size)
{
    struct sink s = {out, size, 0};
    out[0] = '\0';
    return read_value(r, &s);
}

bool resp_call(struct resp *r, const char *const *argv, char *out, size_t size)
{
    return resp_send(r, argv) == 0 && resp_read(r, out, size) == 0 && out[0] != '-';
}

void resp_collect(const char **argv, size_t max, const char *first, va_list args)
{
    size_t count = 0;
    for (const char *arg = first; arg != NULL && count + 1 < max;
         arg = va_arg(args, const char *))
        argv[count++] = arg;
    argv[count] = NULL;
}
